// TARGET: sm_100a ptx86

llvm.func @before() attributes {nvvm.kernel} {
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<before>
  llvm.return
}

llvm.func @after() attributes {nvvm.kernel} {
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>
  llvm.return
}
