// TARGET: sm_90 ptx78

llvm.func @generic_i64_cta(%addr: !llvm.ptr, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state : !llvm.ptr, i64 -> i1
  llvm.return
}

llvm.func @generic_i64_cta_ticks(%addr: !llvm.ptr, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks : !llvm.ptr, i64, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cta(%addr: !llvm.ptr, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase : !llvm.ptr, i32 -> i1
  llvm.return
}

llvm.func @generic_i32_cta_ticks(%addr: !llvm.ptr, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks : !llvm.ptr, i32, i32 -> i1
  llvm.return
}

llvm.func @shared_i64_cta(%addr: !llvm.ptr<3>, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state : !llvm.ptr<3>, i64 -> i1
  llvm.return
}

llvm.func @shared_i64_cta_ticks(%addr: !llvm.ptr<3>, %state: i64, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %state, %ticks : !llvm.ptr<3>, i64, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cta(%addr: !llvm.ptr<3>, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase : !llvm.ptr<3>, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cta_ticks(%addr: !llvm.ptr<3>, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.try_wait %addr, %phase, %ticks : !llvm.ptr<3>, i32, i32 -> i1
  llvm.return
}
