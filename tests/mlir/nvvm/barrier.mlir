// TARGET: sm_20 ptx32

llvm.func @barrier() attributes {nvvm.kernel} {
  nvvm.barrier
  llvm.return
}

llvm.func @id(%id: i32) attributes {nvvm.kernel} {
  nvvm.barrier id = %id
  llvm.return
}

llvm.func @id_number_of_threads(%id: i32, %threads: i32) attributes {nvvm.kernel} {
  nvvm.barrier id = %id number_of_threads = %threads
  llvm.return
}
