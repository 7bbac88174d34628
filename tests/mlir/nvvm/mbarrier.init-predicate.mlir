// TARGET: sm_80 ptx70

llvm.func @generic_predicate(%addr: !llvm.ptr, %count: i32, %predicate: i1) attributes {nvvm.kernel} {
  nvvm.mbarrier.init %addr, %count, predicate = %predicate : !llvm.ptr, i32, i1
  llvm.return
}

llvm.func @shared_predicate(%addr: !llvm.ptr<3>, %count: i32, %predicate: i1) attributes {nvvm.kernel} {
  nvvm.mbarrier.init %addr, %count, predicate = %predicate : !llvm.ptr<3>, i32, i1
  llvm.return
}
