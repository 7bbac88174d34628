// TARGET: sm_80 ptx71

llvm.func @generic_i32_cta(%addr: !llvm.ptr, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.test.wait %addr, %phase : !llvm.ptr, i32 -> i1
  llvm.return
}

llvm.func @shared_i32_cta(%addr: !llvm.ptr<3>, %phase: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.test.wait %addr, %phase : !llvm.ptr<3>, i32 -> i1
  llvm.return
}
