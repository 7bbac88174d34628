// TARGET: sm_90 ptx80

llvm.func @fence_mbarrier_init() attributes {nvvm.kernel} {
  nvvm.fence.mbarrier.init
  llvm.return
}
