// TARGET: sm_90 ptx80

llvm.func @cluster_cta(%addr: !llvm.ptr<7>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cta_count(%addr: !llvm.ptr<7>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr, %count : !llvm.ptr<7>
  llvm.return
}
