; Read-modify-writes that become compare-and-swap loops.
target triple = "nvptx64-nvidia-cuda"

define i32 @nand(ptr addrspace(1) %p, i32 %v) {
  %old = atomicrmw nand ptr addrspace(1) %p, i32 %v seq_cst
  ret i32 %old
}
define i64 @uinc_wrap(ptr addrspace(3) %p, i64 %v) {
  %old = atomicrmw uinc_wrap ptr addrspace(3) %p, i64 %v syncscope("block") acquire
  ret i64 %old
}
define i64 @udec_wrap(ptr addrspace(1) %p) {
  %old = atomicrmw udec_wrap ptr addrspace(1) %p, i64 9 syncscope("device") release
  ret i64 %old
}
define i32 @usub_cond(ptr %p, i32 %v) {
  %old = atomicrmw usub_cond ptr %p, i32 %v acq_rel
  ret i32 %old
}
define i32 @usub_sat(ptr addrspace(1) %p, i32 %v) {
  %old = atomicrmw usub_sat ptr addrspace(1) %p, i32 %v monotonic
  ret i32 %old
}
define double @fsub(ptr addrspace(1) %p, double %v) {
  %old = atomicrmw fsub ptr addrspace(1) %p, double %v syncscope("device") monotonic
  ret double %old
}
define float @fmax(ptr addrspace(1) %p) {
  %old = atomicrmw fmax ptr addrspace(1) %p, float 2.0 syncscope("device") acq_rel
  ret float %old
}
define float @fmin(ptr addrspace(1) %p, float %v) {
  %old = atomicrmw fmin ptr addrspace(1) %p, float %v syncscope("device") acq_rel
  ret float %old
}
define double @fmaximum(ptr addrspace(1) %p, double %v) {
  %old = atomicrmw fmaximum ptr addrspace(1) %p, double %v syncscope("device") acq_rel
  ret double %old
}
define float @fminimum(ptr addrspace(1) %p, float %v) {
  %old = atomicrmw fminimum ptr addrspace(1) %p, float %v syncscope("device") acq_rel
  ret float %old
}
