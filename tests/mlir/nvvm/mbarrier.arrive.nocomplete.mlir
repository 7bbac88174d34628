// TARGET: sm_80 ptx70

llvm.func @generic(%addr: !llvm.ptr, %count: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.arrive.nocomplete %addr, %count : !llvm.ptr, i32 -> i64
  llvm.return
}

llvm.func @shared(%addr: !llvm.ptr<3>, %count: i32) attributes {nvvm.kernel} {
  %result = nvvm.mbarrier.arrive.nocomplete %addr, %count : !llvm.ptr<3>, i32 -> i64
  llvm.return
}
