// TARGET: sm_90 ptx86

llvm.func @generic_cta_relaxed(%addr: !llvm.ptr, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {relaxed = true} : !llvm.ptr, i32
  llvm.return
}

llvm.func @generic_cluster_relaxed(%addr: !llvm.ptr, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr, i32
  llvm.return
}

llvm.func @shared_cta_relaxed(%addr: !llvm.ptr<3>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {relaxed = true} : !llvm.ptr<3>, i32
  llvm.return
}

llvm.func @shared_cluster_relaxed(%addr: !llvm.ptr<3>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>, i32
  llvm.return
}

llvm.func @cluster_cta_relaxed(%addr: !llvm.ptr<7>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {relaxed = true} : !llvm.ptr<7>, i32
  llvm.return
}

llvm.func @cluster_cluster_relaxed(%addr: !llvm.ptr<7>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<7>, i32
  llvm.return
}
