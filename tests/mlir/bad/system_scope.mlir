// RUN: --mcpu sm_35
gpu.module @kernels {
  gpu.func @f(%m: memref<i32, 1>, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[] : (i32, memref<i32, 1>) -> i32
    gpu.return
  }
}
