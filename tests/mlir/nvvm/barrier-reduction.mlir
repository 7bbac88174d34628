// TARGET: sm_20 ptx32
// LLVM: 22

llvm.func @popc(%predicate: i32) attributes {nvvm.kernel} {
  %result = nvvm.barrier #nvvm.reduction<popc> %predicate -> i32
  llvm.return
}

llvm.func @and(%predicate: i32) attributes {nvvm.kernel} {
  %result = nvvm.barrier #nvvm.reduction<and> %predicate -> i32
  llvm.return
}

llvm.func @or(%predicate: i32) attributes {nvvm.kernel} {
  %result = nvvm.barrier #nvvm.reduction<or> %predicate -> i32
  llvm.return
}
