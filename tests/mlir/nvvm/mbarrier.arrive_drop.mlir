// TARGET: sm_90 ptx80

llvm.func @generic_cta(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr : !llvm.ptr
  llvm.return
}

llvm.func @generic_cta_count(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count : !llvm.ptr
  llvm.return
}

llvm.func @generic_cluster(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr
  llvm.return
}

llvm.func @generic_cluster_count(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr
  llvm.return
}

llvm.func @shared_cta(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cta_count(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cluster(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cluster_count(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<3>
  llvm.return
}

llvm.func @cluster_cta(%addr: !llvm.ptr<7>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cta_count(%addr: !llvm.ptr<7>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cluster(%addr: !llvm.ptr<7>) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  llvm.return
}

llvm.func @cluster_cluster_count(%addr: !llvm.ptr<7>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive_drop %addr, %count {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
  llvm.return
}
