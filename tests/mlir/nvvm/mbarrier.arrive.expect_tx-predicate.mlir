// TARGET: sm_90 ptx80

llvm.func @generic_cta_predicate(%addr: !llvm.ptr, %txcount: i32, %predicate: i1) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount, predicate = %predicate : !llvm.ptr, i32, i1
  llvm.return
}

llvm.func @shared_cta_predicate(%addr: !llvm.ptr<3>, %txcount: i32, %predicate: i1) attributes {nvvm.kernel} {
  nvvm.mbarrier.arrive.expect_tx %addr, %txcount, predicate = %predicate : !llvm.ptr<3>, i32, i1
  llvm.return
}
