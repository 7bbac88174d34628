// TARGET: sm_20 ptx32

llvm.func @cta() attributes {nvvm.kernel} {
  nvvm.memory.barrier #nvvm.mem_scope<cta>
  llvm.return
}

llvm.func @gpu() attributes {nvvm.kernel} {
  nvvm.memory.barrier #nvvm.mem_scope<gpu>
  llvm.return
}

llvm.func @sys() attributes {nvvm.kernel} {
  nvvm.memory.barrier #nvvm.mem_scope<sys>
  llvm.return
}
