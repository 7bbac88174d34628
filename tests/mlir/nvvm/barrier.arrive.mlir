// TARGET: sm_20 ptx32

llvm.func @barrier_arrive(%threads: i32) attributes {nvvm.kernel} {
  nvvm.barrier.arrive number_of_threads = %threads
  llvm.return
}

llvm.func @id(%id: i32, %threads: i32) attributes {nvvm.kernel} {
  nvvm.barrier.arrive id = %id number_of_threads = %threads
  llvm.return
}
