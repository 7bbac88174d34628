// RUN:
gpu.module @kernels {
  gpu.func @space(%m: memref<4xi32, "hbm">, %i: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<4xi32, "hbm">) -> i32
    gpu.return
  }
  gpu.func @number(%m: memref<4xi32, 9>, %i: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<4xi32, 9>) -> i32
    gpu.return
  }
  gpu.func @constant(%m: memref<4xi32, 4>, %i: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<4xi32, 4>) -> i32
    gpu.return
  }
  gpu.func @layout(%m: memref<4x4xi32, affine_map<(i, j) -> (i floordiv 2, j)>>, %i: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i, %i] : (i32, memref<4x4xi32, affine_map<(i, j) -> (i floordiv 2, j)>>) -> i32
    gpu.return
  }
  gpu.func @element(%m: memref<4xi24>, %i: index, %v: i24) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i] : (i24, memref<4xi24>) -> i24
    gpu.return
  }
  gpu.func @float(%m: memref<4xf128>, %i: index, %v: f128) kernel {
    %0 = memref.atomic_rmw addf %v, %m[%i] : (f128, memref<4xf128>) -> f128
    gpu.return
  }
}
