// TARGET: sm_90 ptx78

llvm.func @cluster() attributes {nvvm.kernel} {
  nvvm.memory.barrier #nvvm.mem_scope<cluster>
  llvm.return
}
