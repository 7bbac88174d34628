// TARGET: sm_100a ptx86

llvm.func @load() attributes {nvvm.kernel} {
  nvvm.tcgen05.wait #nvvm.tcgen05_wait<load>
  llvm.return
}

llvm.func @store() attributes {nvvm.kernel} {
  nvvm.tcgen05.wait #nvvm.tcgen05_wait<store>
  llvm.return
}
