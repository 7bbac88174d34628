// Two kernels around fences and barriers, in the dialects that a compiler has before it lowers: a lock of a block, and a
// ticket whose holder waits.
module attributes {gpu.container_module} {
  gpu.module @locks {
    gpu.func @locked(%lock: memref<i32, 1>, %data: memref<?xf32, 1>, %i: index, %v: f32) kernel {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %first = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %is_first = arith.cmpi eq, %first, %c0 : index
      scf.if %is_first {
        scf.while : () -> () {
          %held = memref.atomic_rmw assign %one, %lock[] {ptx.ordering = "acquire", ptx.scope = "gpu"}
            : (i32, memref<i32, 1>) -> i32
          %busy = arith.cmpi ne, %held, %zero : i32
          scf.condition(%busy)
        } do {
          scf.yield
        }
        %old = memref.load %data[%i] : memref<?xf32, 1>
        %new = arith.addf %old, %v : f32
        memref.store %new, %data[%i] : memref<?xf32, 1>
        %was = memref.atomic_rmw assign %zero, %lock[] {ptx.ordering = "release", ptx.scope = "gpu"}
          : (i32, memref<i32, 1>) -> i32
      }
      gpu.return
    }
    gpu.func @passed(%flag: memref<i32, 1>, %data: memref<?xf32, 1>, %i: index, %v: f32) kernel {
      memref.store %v, %data[%i] : memref<?xf32, 1>
      gpu.barrier
      llvm.fence syncscope("device") release
      %one = arith.constant 1 : i32
      %old = memref.atomic_rmw addi %one, %flag[] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
        : (i32, memref<i32, 1>) -> i32
      llvm.fence syncscope("device") acq_rel
      gpu.barrier
      gpu.return
    }
  }
}
