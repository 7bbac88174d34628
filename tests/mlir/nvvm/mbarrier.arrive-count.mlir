// TARGET: sm_90 ptx80

llvm.func @generic_cta_count(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr, %count : !llvm.ptr
  llvm.return
}

llvm.func @shared_cta_count(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive %addr, %count : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cta_count_result(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.arrive %addr, %count : !llvm.ptr<3> -> i64
  llvm.return
}
