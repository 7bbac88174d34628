// Every operation of llvm.atomicrmw × type, and cmpxchg of every type.

llvm.func @xchg_i8(%p: !llvm.ptr<1>, %v: i8) -> i8 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i8
  llvm.return %r : i8
}
llvm.func @add_i8(%p: !llvm.ptr<1>, %v: i8) -> i8 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i8
  llvm.return %r : i8
}
llvm.func @nand_i8(%p: !llvm.ptr<1>, %v: i8) -> i8 {
  %r = llvm.atomicrmw nand %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i8
  llvm.return %r : i8
}
llvm.func @umin_i8(%p: !llvm.ptr<1>, %v: i8) -> i8 {
  %r = llvm.atomicrmw umin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i8
  llvm.return %r : i8
}
llvm.func @xchg_i16(%p: !llvm.ptr<1>, %v: i16) -> i16 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i16
  llvm.return %r : i16
}
llvm.func @max_i16(%p: !llvm.ptr<1>, %v: i16) -> i16 {
  %r = llvm.atomicrmw max %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i16
  llvm.return %r : i16
}
llvm.func @xor_i16(%p: !llvm.ptr<1>, %v: i16) -> i16 {
  %r = llvm.atomicrmw _xor %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i16
  llvm.return %r : i16
}
llvm.func @xchg_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @add_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @sub_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw sub %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @and_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw _and %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @nand_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw nand %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @or_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw _or %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @xor_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw _xor %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @max_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw max %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @min_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw min %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @umax_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw umax %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @umin_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw umin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @uinc_wrap_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw uinc_wrap %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @udec_wrap_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw udec_wrap %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @usub_cond_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw usub_cond %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @usub_sat_i32(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw usub_sat %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @xchg_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @add_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @sub_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw sub %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @and_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw _and %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @nand_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw nand %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @or_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw _or %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @xor_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw _xor %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @max_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw max %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @min_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw min %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @umax_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw umax %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @umin_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw umin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @uinc_wrap_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw uinc_wrap %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @udec_wrap_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw udec_wrap %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @usub_cond_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw usub_cond %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @usub_sat_i64(%p: !llvm.ptr<1>, %v: i64) -> i64 {
  %r = llvm.atomicrmw usub_sat %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i64
  llvm.return %r : i64
}
llvm.func @fadd_f16(%p: !llvm.ptr<1>, %v: f16) -> f16 {
  %r = llvm.atomicrmw fadd %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f16
  llvm.return %r : f16
}
llvm.func @fmin_f16(%p: !llvm.ptr<1>, %v: f16) -> f16 {
  %r = llvm.atomicrmw fmin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f16
  llvm.return %r : f16
}
llvm.func @fadd_bf16(%p: !llvm.ptr<1>, %v: bf16) -> bf16 {
  %r = llvm.atomicrmw fadd %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, bf16
  llvm.return %r : bf16
}
llvm.func @fmaximum_bf16(%p: !llvm.ptr<1>, %v: bf16) -> bf16 {
  %r = llvm.atomicrmw fmaximum %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, bf16
  llvm.return %r : bf16
}
llvm.func @fadd_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fadd %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fsub_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fsub %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fmax_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fmax %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fmin_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fmin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fmaximum_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fmaximum %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fminimum_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw fminimum %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @xchg_f32(%p: !llvm.ptr<1>, %v: f32) -> f32 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f32
  llvm.return %r : f32
}
llvm.func @fadd_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fadd %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fsub_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fsub %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fmax_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fmax %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fmin_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fmin %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fmaximum_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fmaximum %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fminimum_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw fminimum %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @xchg_f64(%p: !llvm.ptr<1>, %v: f64) -> f64 {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, f64
  llvm.return %r : f64
}
llvm.func @fadd_vector_2xf16(%p: !llvm.ptr<1>, %v: vector<2xf16>) -> vector<2xf16> {
  %r = llvm.atomicrmw fadd %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, vector<2xf16>
  llvm.return %r : vector<2xf16>
}
llvm.func @fmax_vector_2xf16(%p: !llvm.ptr<1>, %v: vector<2xf16>) -> vector<2xf16> {
  %r = llvm.atomicrmw fmax %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, vector<2xf16>
  llvm.return %r : vector<2xf16>
}
llvm.func @fsub_vector_2xbf16(%p: !llvm.ptr<1>, %v: vector<2xbf16>) -> vector<2xbf16> {
  %r = llvm.atomicrmw fsub %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, vector<2xbf16>
  llvm.return %r : vector<2xbf16>
}
llvm.func @xchg_ptr(%p: !llvm.ptr<1>, %v: !llvm.ptr) -> !llvm.ptr {
  %r = llvm.atomicrmw xchg %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, !llvm.ptr
  llvm.return %r : !llvm.ptr
}
llvm.func @cmpxchg_i8(%p: !llvm.ptr<3>, %c: i8, %v: i8) -> i1 {
  %pair = llvm.cmpxchg weak %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, i8
  %r = llvm.extractvalue %pair[1] : !llvm.struct<(i8, i1)>
  llvm.return %r : i1
}
llvm.func @cmpxchg_i16(%p: !llvm.ptr<3>, %c: i16, %v: i16) -> i1 {
  %pair = llvm.cmpxchg weak %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, i16
  %r = llvm.extractvalue %pair[1] : !llvm.struct<(i16, i1)>
  llvm.return %r : i1
}
llvm.func @cmpxchg_i32(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i1 {
  %pair = llvm.cmpxchg weak %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
  llvm.return %r : i1
}
llvm.func @cmpxchg_i64(%p: !llvm.ptr<3>, %c: i64, %v: i64) -> i1 {
  %pair = llvm.cmpxchg weak %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, i64
  %r = llvm.extractvalue %pair[1] : !llvm.struct<(i64, i1)>
  llvm.return %r : i1
}
llvm.func @cmpxchg_ptr(%p: !llvm.ptr<3>, %c: !llvm.ptr, %v: !llvm.ptr) -> i1 {
  %pair = llvm.cmpxchg weak %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, !llvm.ptr
  %r = llvm.extractvalue %pair[1] : !llvm.struct<(!llvm.ptr, i1)>
  llvm.return %r : i1
}
llvm.func @volatile_i8(%p: !llvm.ptr<1>) -> i8 {
  %r = llvm.load volatile %p atomic acquire {alignment = 1 : i64} : !llvm.ptr<1> -> i8
  llvm.store volatile %r, %p atomic release {alignment = 1 : i64} : i8, !llvm.ptr<1>
  llvm.return %r : i8
}
llvm.func @volatile_i16(%p: !llvm.ptr<1>) -> i16 {
  %r = llvm.load volatile %p atomic acquire {alignment = 2 : i64} : !llvm.ptr<1> -> i16
  llvm.store volatile %r, %p atomic release {alignment = 2 : i64} : i16, !llvm.ptr<1>
  llvm.return %r : i16
}
llvm.func @volatile_i32(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load volatile %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.store volatile %r, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return %r : i32
}
llvm.func @volatile_i64(%p: !llvm.ptr<1>) -> i64 {
  %r = llvm.load volatile %p atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  llvm.store volatile %r, %p atomic release {alignment = 8 : i64} : i64, !llvm.ptr<1>
  llvm.return %r : i64
}
llvm.func @volatile_f32(%p: !llvm.ptr<1>) -> f32 {
  %r = llvm.load volatile %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  llvm.store volatile %r, %p atomic release {alignment = 4 : i64} : f32, !llvm.ptr<1>
  llvm.return %r : f32
}
llvm.func @volatile_f64(%p: !llvm.ptr<1>) -> f64 {
  %r = llvm.load volatile %p atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> f64
  llvm.store volatile %r, %p atomic release {alignment = 8 : i64} : f64, !llvm.ptr<1>
  llvm.return %r : f64
}
llvm.func @volatile_ptr(%p: !llvm.ptr<1>) -> !llvm.ptr {
  %r = llvm.load volatile %p atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> !llvm.ptr
  llvm.store volatile %r, %p atomic release {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr<1>
  llvm.return %r : !llvm.ptr
}
llvm.func @constants(%p: !llvm.ptr<1>) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.zero : i32
  %half = llvm.mlir.constant(5.0e-01 : f32) : f32
  %0 = llvm.atomicrmw add %p, %one monotonic : !llvm.ptr<1>, i32
  %1 = llvm.cmpxchg %p, %zero, %one acquire monotonic : !llvm.ptr<1>, i32
  %2 = llvm.atomicrmw fadd %p, %half monotonic : !llvm.ptr<1>, f32
  llvm.store %zero, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
