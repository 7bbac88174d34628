// TARGET: sm_90 ptx78

llvm.func @generic(%addr: !llvm.ptr, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.try_wait.parity %addr, %phase, %ticks : !llvm.ptr, i32, i32
  llvm.return
}

llvm.func @shared(%addr: !llvm.ptr<3>, %phase: i32, %ticks: i32) attributes {nvvm.kernel} {
  nvvm.mbarrier.try_wait.parity %addr, %phase, %ticks : !llvm.ptr<3>, i32, i32
  llvm.return
}
