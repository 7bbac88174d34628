// RUN:
gpu.module @kernels {
  gpu.func @f(%p: memref<i32, 1>) kernel {
    %v = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %old = memref.atomic_rmw addi %v, %p[] : (i32, memref<i32, 1>) -> i32
    "triton_gpu.barrier"() : () -> ()
    gpu.return
  }
}
