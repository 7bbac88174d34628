// TARGET: sm_80 ptx70

llvm.func @generic(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.inval %addr : !llvm.ptr
  llvm.return
}

llvm.func @shared(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.inval %addr : !llvm.ptr<3>
  llvm.return
}
