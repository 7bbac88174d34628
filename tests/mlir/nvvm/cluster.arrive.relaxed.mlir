// TARGET: sm_90 ptx80

llvm.func @cluster_arrive_relaxed() attributes {nvvm.kernel} {
  nvvm.cluster.arrive.relaxed
  llvm.return
}

llvm.func @aligned() attributes {nvvm.kernel} {
  nvvm.cluster.arrive.relaxed {aligned}
  llvm.return
}
