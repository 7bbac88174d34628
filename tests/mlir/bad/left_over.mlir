// RUN:
gpu.module @kernels {
  gpu.func @f(%m: memref<4xi32>, %t: tensor<4xi32>) kernel {
    %i = arith.constant 0 : index
    %v = tensor.extract %t[%i] : tensor<4xi32>
    %token = async.execute {
      async.yield
    }
    %old = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<4xi32>) -> i32
    gpu.return
  }
}
