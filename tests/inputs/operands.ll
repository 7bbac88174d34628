; GPUS: sm_60 sm_90
; Operands and addresses that say more than their type: negations, alignment, modes of subnormals, variables of one module.
target triple = "nvptx64-nvidia-cuda"
define double @f(ptr addrspace(1) %p, double %v) {
  %n = fneg double %v
  %r = atomicrmw fadd ptr addrspace(1) %p, double %n syncscope("device") monotonic
  ret double %r
}
define float @ff(ptr addrspace(1) %p, float %v) {
  %n = fneg float %v
  %r = atomicrmw fadd ptr addrspace(1) %p, float %n syncscope("device") monotonic
  ret float %r
}
define float @fs(ptr addrspace(1) %p, float %v) {
  %r = atomicrmw fsub ptr addrspace(1) %p, float %v syncscope("device") monotonic
  ret float %r
}
define void @or8(ptr addrspace(1) %p, i8 %v) {
  %q = getelementptr i8, ptr addrspace(1) %p, i64 8
  %r = atomicrmw or ptr addrspace(1) %q, i8 %v syncscope("device") monotonic, align 4
  ret void
}
define i8 @and8(ptr addrspace(1) %p, i8 %v) {
  %r = atomicrmw and ptr addrspace(1) %p, i8 %v syncscope("device") monotonic, align 4
  ret i8 %r
}
define i16 @cas(ptr addrspace(1) %p, i16 %v) {
  %r = cmpxchg ptr addrspace(1) %p, i16 %v, i16 4 syncscope("device") monotonic monotonic, align 4
  %e = extractvalue { i16, i1 } %r, 0
  ret i16 %e
}
define float @flush(ptr addrspace(1) %p, float %v) "denormal-fp-math-f32"="preserve-sign,preserve-sign" {
  %r = atomicrmw fadd ptr addrspace(1) %p, float %v syncscope("device") monotonic
  ret float %r
}
define float @keep(ptr addrspace(1) %p, float %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, float %v syncscope("device") monotonic
  ret float %r
}
@counter = dso_local addrspace(1) global i32 0
@flags = dso_local addrspace(3) global [4 x i8] poison, align 4
define void @variables() {
  %a = atomicrmw add ptr addrspace(1) @counter, i32 1 syncscope("device") monotonic
  %b = atomicrmw or ptr addrspace(3) @flags, i8 1 syncscope("block") release, align 4
  store atomic i8 1, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @flags, i64 2) syncscope("block") monotonic, align 1
  ret void
}
