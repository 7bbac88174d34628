// TARGET: sm_20 ptx32
// LLVM: 22

llvm.func @barrier0() attributes {nvvm.kernel} {
  nvvm.barrier0
  llvm.return
}
