// RUN:
gpu.module @kernels {
  gpu.func @f(%m: memref<4xi32, 1>, %v: i32) kernel {
    amdgpu.lds_barrier
    %shape = shape.const_shape [1, 2] : !shape.shape
    %i = arith.constant 0 : index
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "warp"} : (i32, memref<4xi32, 1>) -> i32
    rocdl.barrier
    gpu.return
  }
}
