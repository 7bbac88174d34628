// TARGET: sm_90 ptx78

llvm.func @fence_sc_cluster() attributes {nvvm.kernel} {
  nvvm.fence.sc.cluster
  llvm.return
}
