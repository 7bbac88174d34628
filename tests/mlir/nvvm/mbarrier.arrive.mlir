// TARGET: sm_80 ptx70

llvm.func @generic_cta(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr : !llvm.ptr
  llvm.return
}

llvm.func @shared_cta(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cta_result(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.arrive %addr : !llvm.ptr<3> -> i64
  llvm.return
}
