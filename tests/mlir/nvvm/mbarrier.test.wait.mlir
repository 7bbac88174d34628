// TARGET: sm_80 ptx70

llvm.func @generic_i64_cta(%addr: !llvm.ptr, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.test.wait %addr, %state : !llvm.ptr, i64 -> i1
  llvm.return
}

llvm.func @shared_i64_cta(%addr: !llvm.ptr<3>, %state: i64) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.test.wait %addr, %state : !llvm.ptr<3>, i64 -> i1
  llvm.return
}
