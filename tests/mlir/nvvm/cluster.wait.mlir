// TARGET: sm_90 ptx78

llvm.func @cluster_wait() attributes {nvvm.kernel} {
  nvvm.cluster.wait
  llvm.return
}

llvm.func @aligned() attributes {nvvm.kernel} {
  nvvm.cluster.wait {aligned}
  llvm.return
}
