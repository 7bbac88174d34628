// TARGET: sm_90 ptx78

llvm.func @cluster_arrive() attributes {nvvm.kernel} {
  nvvm.cluster.arrive
  llvm.return
}

llvm.func @aligned() attributes {nvvm.kernel} {
  nvvm.cluster.arrive {aligned}
  llvm.return
}
