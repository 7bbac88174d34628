// TARGET: sm_90 ptx86

llvm.func @generic_cta_relaxed(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {relaxed = true} : !llvm.ptr
  llvm.return
}

llvm.func @generic_cta_relaxed_count(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {relaxed = true} : !llvm.ptr
  llvm.return
}

llvm.func @generic_cluster_relaxed(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr
  llvm.return
}

llvm.func @generic_cluster_relaxed_count(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr
  llvm.return
}

llvm.func @shared_cta_relaxed(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {relaxed = true} : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cta_relaxed_count(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {relaxed = true} : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cluster_relaxed(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cluster_relaxed_count(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>
  llvm.return
}

llvm.func @cluster_cta_relaxed(%addr: !llvm.ptr<7>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {relaxed = true} : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cta_relaxed_count(%addr: !llvm.ptr<7>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {relaxed = true} : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cluster_relaxed(%addr: !llvm.ptr<7>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cluster_relaxed_count(%addr: !llvm.ptr<7>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<7>
  llvm.return
}
