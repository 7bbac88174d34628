// TARGET: sm_80 ptx70

llvm.func @generic(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.cp.async.mbarrier.arrive %addr : !llvm.ptr
  llvm.return
}

llvm.func @generic_noinc(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.cp.async.mbarrier.arrive %addr {noinc = true} : !llvm.ptr
  llvm.return
}

llvm.func @shared(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.cp.async.mbarrier.arrive %addr : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_noinc(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.cp.async.mbarrier.arrive %addr {noinc = true} : !llvm.ptr<3>
  llvm.return
}
