// Every kind of the memref dialect's atomics × element type.

gpu.module @kernels {
  gpu.func @assign_i1(%m: memref<?xi1, 1>, %i: index, %v: i1) -> i1 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (i1, memref<?xi1, 1>) -> i1
    gpu.return %old : i1
  }
  gpu.func @ori_i1(%m: memref<?xi1, 1>, %i: index, %v: i1) -> i1 {
    %old = memref.atomic_rmw ori %v, %m[%i] {ptx.scope = "gpu"} : (i1, memref<?xi1, 1>) -> i1
    gpu.return %old : i1
  }
  gpu.func @xori_i1(%m: memref<?xi1, 1>, %i: index, %v: i1) -> i1 {
    %old = memref.atomic_rmw xori %v, %m[%i] {ptx.scope = "gpu"} : (i1, memref<?xi1, 1>) -> i1
    gpu.return %old : i1
  }
  gpu.func @addi_i8(%m: memref<?xi8, 1>, %i: index, %v: i8) -> i8 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "gpu"} : (i8, memref<?xi8, 1>) -> i8
    gpu.return %old : i8
  }
  gpu.func @assign_i8(%m: memref<?xi8, 1>, %i: index, %v: i8) -> i8 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (i8, memref<?xi8, 1>) -> i8
    gpu.return %old : i8
  }
  gpu.func @maxs_i8(%m: memref<?xi8, 1>, %i: index, %v: i8) -> i8 {
    %old = memref.atomic_rmw maxs %v, %m[%i] {ptx.scope = "gpu"} : (i8, memref<?xi8, 1>) -> i8
    gpu.return %old : i8
  }
  gpu.func @addi_i16(%m: memref<?xi16, 1>, %i: index, %v: i16) -> i16 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "gpu"} : (i16, memref<?xi16, 1>) -> i16
    gpu.return %old : i16
  }
  gpu.func @minu_i16(%m: memref<?xi16, 1>, %i: index, %v: i16) -> i16 {
    %old = memref.atomic_rmw minu %v, %m[%i] {ptx.scope = "gpu"} : (i16, memref<?xi16, 1>) -> i16
    gpu.return %old : i16
  }
  gpu.func @muli_i16(%m: memref<?xi16, 1>, %i: index, %v: i16) -> i16 {
    %old = memref.atomic_rmw muli %v, %m[%i] {ptx.scope = "gpu"} : (i16, memref<?xi16, 1>) -> i16
    gpu.return %old : i16
  }
  gpu.func @addi_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @andi_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw andi %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @assign_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @maxs_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw maxs %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @maxu_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw maxu %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @mins_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw mins %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @minu_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw minu %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @muli_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw muli %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @ori_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw ori %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @xori_i32(%m: memref<?xi32, 1>, %i: index, %v: i32) -> i32 {
    %old = memref.atomic_rmw xori %v, %m[%i] {ptx.scope = "gpu"} : (i32, memref<?xi32, 1>) -> i32
    gpu.return %old : i32
  }
  gpu.func @addi_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw addi %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @andi_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw andi %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @assign_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @maxs_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw maxs %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @maxu_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw maxu %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @mins_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw mins %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @minu_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw minu %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @muli_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw muli %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @ori_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw ori %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @xori_i64(%m: memref<?xi64, 1>, %i: index, %v: i64) -> i64 {
    %old = memref.atomic_rmw xori %v, %m[%i] {ptx.scope = "gpu"} : (i64, memref<?xi64, 1>) -> i64
    gpu.return %old : i64
  }
  gpu.func @assign_f8E4M3FN(%m: memref<?xf8E4M3FN, 1>, %i: index, %v: f8E4M3FN) -> f8E4M3FN {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (f8E4M3FN, memref<?xf8E4M3FN, 1>) -> f8E4M3FN
    gpu.return %old : f8E4M3FN
  }
  gpu.func @addf_bf16(%m: memref<?xbf16, 1>, %i: index, %v: bf16) -> bf16 {
    %old = memref.atomic_rmw addf %v, %m[%i] {ptx.scope = "gpu"} : (bf16, memref<?xbf16, 1>) -> bf16
    gpu.return %old : bf16
  }
  gpu.func @maximumf_bf16(%m: memref<?xbf16, 1>, %i: index, %v: bf16) -> bf16 {
    %old = memref.atomic_rmw maximumf %v, %m[%i] {ptx.scope = "gpu"} : (bf16, memref<?xbf16, 1>) -> bf16
    gpu.return %old : bf16
  }
  gpu.func @addf_f16(%m: memref<?xf16, 1>, %i: index, %v: f16) -> f16 {
    %old = memref.atomic_rmw addf %v, %m[%i] {ptx.scope = "gpu"} : (f16, memref<?xf16, 1>) -> f16
    gpu.return %old : f16
  }
  gpu.func @minnumf_f16(%m: memref<?xf16, 1>, %i: index, %v: f16) -> f16 {
    %old = memref.atomic_rmw minnumf %v, %m[%i] {ptx.scope = "gpu"} : (f16, memref<?xf16, 1>) -> f16
    gpu.return %old : f16
  }
  gpu.func @mulf_f16(%m: memref<?xf16, 1>, %i: index, %v: f16) -> f16 {
    %old = memref.atomic_rmw mulf %v, %m[%i] {ptx.scope = "gpu"} : (f16, memref<?xf16, 1>) -> f16
    gpu.return %old : f16
  }
  gpu.func @addf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw addf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @assign_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @maximumf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw maximumf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @maxnumf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw maxnumf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @minimumf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw minimumf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @minnumf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw minnumf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @mulf_f32(%m: memref<?xf32, 1>, %i: index, %v: f32) -> f32 {
    %old = memref.atomic_rmw mulf %v, %m[%i] {ptx.scope = "gpu"} : (f32, memref<?xf32, 1>) -> f32
    gpu.return %old : f32
  }
  gpu.func @addf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw addf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @assign_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw assign %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @maximumf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw maximumf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @maxnumf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw maxnumf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @minimumf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw minimumf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @minnumf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw minnumf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
  gpu.func @mulf_f64(%m: memref<?xf64, 1>, %i: index, %v: f64) -> f64 {
    %old = memref.atomic_rmw mulf %v, %m[%i] {ptx.scope = "gpu"} : (f64, memref<?xf64, 1>) -> f64
    gpu.return %old : f64
  }
}
