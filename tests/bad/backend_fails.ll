; RUN: --mcpu sm_70
; LLVM's backend ends the process on what it cannot select; the error names the function.
target triple = "nvptx64-nvidia-cuda"
declare bfloat @llvm.nvvm.neg.bf16(bfloat)
define void @before(ptr addrspace(1) %p) {
  store atomic i32 1, ptr addrspace(1) %p release, align 4
  ret void
}
define bfloat @needs_bf16(bfloat %x) {
  %negated = call bfloat @llvm.nvvm.neg.bf16(bfloat %x)
  ret bfloat %negated
}
define void @after(ptr addrspace(1) %p) {
  ret void
}
