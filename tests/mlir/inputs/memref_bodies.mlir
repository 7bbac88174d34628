// Bodies of memref.generic_atomic_rmw, and results that are used.
gpu.module @kernels {
  gpu.func @saturating(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %sum = arith.addi %was, %v : i32
      %wrapped = arith.cmpi ult, %sum, %was : i32
      %max = arith.constant -1 : i32
      %new = arith.select %wrapped, %max, %sum : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @float_product(%m: memref<?xf32, 3>, %i: index, %v: f32) -> f32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xf32, 3> {
    ^bb0(%was: f32):
      %new = arith.mulf %was, %v : f32
      memref.atomic_yield %new : f32
    } {ptx.ordering = "release", ptx.scope = "cta"}
    gpu.return %old : f32
  }
  gpu.func @half(%m: memref<?xf16, 1>, %i: index, %v: f16) {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xf16, 1> {
    ^bb0(%was: f16):
      %a = arith.extf %was : f16 to f32
      %b = arith.extf %v : f16 to f32
      %c = arith.divf %a, %b : f32
      %new = arith.truncf %c : f32 to f16
      memref.atomic_yield %new : f16
    }
    gpu.return
  }
  gpu.func @byte(%m: memref<?xi8, 1>, %i: index, %v: i8) -> i8 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi8, 1> {
    ^bb0(%was: i8):
      %new = arith.maxui %was, %v : i8
      memref.atomic_yield %new : i8
    } {ptx.ordering = "seq_cst"}
    gpu.return %old : i8
  }
  gpu.func @in_a_loop(%m: memref<?xi64, 1>, %n: index, %v: i64) -> i64 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i64
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %zero) -> i64 {
      %old = memref.generic_atomic_rmw %m[%i] : memref<?xi64, 1> {
      ^bb0(%was: i64):
        %new = arith.muli %was, %v : i64
        memref.atomic_yield %new : i64
      }
      %next = arith.addi %so_far, %old : i64
      scf.yield %next : i64
    }
    gpu.return %sum : i64
  }
}
