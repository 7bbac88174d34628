// RUN:
gpu.module @kernels {
  gpu.func @f(%m: memref<4xi32, 1>, %other: memref<i32, 1>, %i: index, %v: i32) kernel {
    %0 = memref.generic_atomic_rmw %m[%i] : memref<4xi32, 1> {
    ^bb0(%was: i32):
      memref.store %was, %other[] : memref<i32, 1>
      %1 = memref.atomic_rmw addi %v, %other[] : (i32, memref<i32, 1>) -> i32
      memref.atomic_yield %v : i32
    }
    gpu.return
  }
}
