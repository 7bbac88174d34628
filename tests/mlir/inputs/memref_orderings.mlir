// Every ordering × scope × memory space of the memref dialect's atomics.

gpu.module @kernels {
  gpu.func @rmw_relaxed_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "sys"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "sys"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "sys"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "sys"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "sys"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_sys_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "gpu"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "gpu"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "gpu"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "gpu"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "gpu"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_gpu_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "cta"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "cta"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "cta"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "cta"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "cta"} : (i32, memref<?xi32>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_cta_generic(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "sys"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "sys"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "sys"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "sys"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "sys"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_sys_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_gpu_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "cta"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "cta"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "cta"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "cta"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "cta"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_cta_global(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "sys"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "sys"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "sys"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "sys"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "sys"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_sys_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "sys"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "gpu"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "gpu"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "gpu"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "gpu"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "gpu"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_gpu_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "gpu"}
    gpu.return %old : i32
  }
  gpu.func @rmw_relaxed_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "relaxed", ptx.scope = "cta"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acquire_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acquire", ptx.scope = "cta"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_release_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "release", ptx.scope = "cta"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_acq_rel_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "acq_rel", ptx.scope = "cta"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @rmw_seq_cst_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.ordering = "seq_cst", ptx.scope = "cta"} : (i32, memref<?xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.return %old : i32
  }
  gpu.func @generic_relaxed_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "relaxed", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_acq_rel_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "acq_rel", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @generic_seq_cst_cta_shared(%m: memref<?xi32, #gpu.address_space<workgroup>>, %i: index, %v: i32) -> i32 {
    %old = memref.generic_atomic_rmw %m[%i] : memref<?xi32, #gpu.address_space<workgroup>> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    } {ptx.ordering = "seq_cst", ptx.scope = "cta"}
    gpu.return %old : i32
  }
  gpu.func @defaults(%m: memref<i32, 1>, %v: i32) {
    %0 = memref.atomic_rmw addi %v, %m[] : (i32, memref<i32, 1>) -> i32
    %1 = memref.generic_atomic_rmw %m[] : memref<i32, 1> {
    ^bb0(%was: i32):
      %new = arith.shli %was, %v : i32
      memref.atomic_yield %new : i32
    }
    gpu.return
  }
}
