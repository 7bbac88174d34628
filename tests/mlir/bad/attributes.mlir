// RUN:
gpu.module @kernels {
  gpu.func @f(%m: memref<4xi32, 1>, %i: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "strong"} : (i32, memref<4xi32, 1>) -> i32
    %1 = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "warp", ptx.ordering = "unordered"} : (i32, memref<4xi32, 1>) -> i32
    %2 = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = 3 : i32} : (i32, memref<4xi32, 1>) -> i32
    %3 = memref.generic_atomic_rmw %m[%i] : memref<4xi32, 1> {
    ^bb0(%was: i32):
      memref.atomic_yield %v : i32
    } {ptx.ordering}
    %p = llvm.mlir.zero : !llvm.ptr
    %4 = llvm.atomicrmw add %p, %v monotonic {ptx.scope = "gpu"} : !llvm.ptr, i32
    llvm.fence syncscope("warp") acq_rel
    gpu.return
  }
}
