; RUN: --mcpu sm_90 --mattr +ptx80
; The backend names no intrinsic, but a node of its own with addresses in its memory.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i16 @llvm.nvvm.f32x4.to.e2m1x4.rs.satfinite(<4 x float>, i32)

define i32 @fine() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %id
}

define i16 @rounds_stochastically(<4 x float> %values) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %rounded = call i16 @llvm.nvvm.f32x4.to.e2m1x4.rs.satfinite(<4 x float> %values, i32 %id)
  ret i16 %rounded
}
