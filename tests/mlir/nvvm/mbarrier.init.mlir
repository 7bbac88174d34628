// TARGET: sm_80 ptx70

llvm.func @generic(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.init %addr, %count : !llvm.ptr, i32
  llvm.return
}

llvm.func @shared(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.init %addr, %count : !llvm.ptr<3>, i32
  llvm.return
}
