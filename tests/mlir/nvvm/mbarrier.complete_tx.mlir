// TARGET: sm_90 ptx80

llvm.func @shared_cta(%addr: !llvm.ptr<3>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.complete_tx %addr, %txcount : !llvm.ptr<3>, i32
  llvm.return
}

llvm.func @shared_cluster(%addr: !llvm.ptr<3>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.complete_tx %addr, %txcount {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>, i32
  llvm.return
}

llvm.func @cluster_cta(%addr: !llvm.ptr<7>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.complete_tx %addr, %txcount : !llvm.ptr<7>, i32
  llvm.return
}

llvm.func @cluster_cluster(%addr: !llvm.ptr<7>, %txcount: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.complete_tx %addr, %txcount {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>, i32
  llvm.return
}
