// TARGET: sm_90 ptx86

llvm.func @generic_i64_cta_relaxed(%addr: !llvm.ptr, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state {relaxed = true} : !llvm.ptr, i64 -> i1
  llvm.return
}

llvm.func @generic_i64_cta_relaxed_ticks(%addr: !llvm.ptr, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks {relaxed = true} : !llvm.ptr, i64, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cta_relaxed(%addr: !llvm.ptr, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase {relaxed = true} : !llvm.ptr, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cta_relaxed_ticks(%addr: !llvm.ptr, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks {relaxed = true} : !llvm.ptr, i32, i32 -> i1
  llvm.return
}

llvm.func @generic_i64_cluster_relaxed(%addr: !llvm.ptr, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr, i64 -> i1
  llvm.return
}

llvm.func @generic_i64_cluster_relaxed_ticks(%addr: !llvm.ptr, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr, i64, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cluster_relaxed(%addr: !llvm.ptr, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cluster_relaxed_ticks(%addr: !llvm.ptr, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr, i32, i32 -> i1
  llvm.return
}

llvm.func @shared_i64_cta_relaxed(%addr: !llvm.ptr<3>, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state {relaxed = true} : !llvm.ptr<3>, i64 -> i1
  llvm.return
}

llvm.func @shared_i64_cta_relaxed_ticks(%addr: !llvm.ptr<3>, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks {relaxed = true} : !llvm.ptr<3>, i64, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cta_relaxed(%addr: !llvm.ptr<3>, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase {relaxed = true} : !llvm.ptr<3>, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cta_relaxed_ticks(%addr: !llvm.ptr<3>, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks {relaxed = true} : !llvm.ptr<3>, i32, i32 -> i1
  llvm.return
}

llvm.func @shared_i64_cluster_relaxed(%addr: !llvm.ptr<3>, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>, i64 -> i1
  llvm.return
}

llvm.func @shared_i64_cluster_relaxed_ticks(%addr: !llvm.ptr<3>, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>, i64, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cluster_relaxed(%addr: !llvm.ptr<3>, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cluster_relaxed_ticks(%addr: !llvm.ptr<3>, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks {scope = #nvvm.mem_scope<cluster>, relaxed = true} : !llvm.ptr<3>, i32, i32 -> i1
  llvm.return
}
