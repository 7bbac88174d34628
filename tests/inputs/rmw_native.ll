; Read-modify-writes that PTX has: each ordering, then each operation.
target triple = "nvptx64-nvidia-cuda"

define void @orderings(ptr addrspace(1) %p, i32 %v) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 %v monotonic
  %b = atomicrmw add ptr addrspace(1) %p, i32 %v acquire
  %c = atomicrmw add ptr addrspace(1) %p, i32 %v release
  %d = atomicrmw add ptr addrspace(1) %p, i32 %v acq_rel
  %e = atomicrmw add ptr addrspace(1) %p, i32 %v seq_cst
  ret void
}
define void @operations_32(ptr addrspace(1) %p, i32 %v) {
  %a = atomicrmw xchg ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %b = atomicrmw sub ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %c = atomicrmw and ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %d = atomicrmw or ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %e = atomicrmw xor ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %f = atomicrmw max ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %g = atomicrmw min ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %h = atomicrmw umax ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %i = atomicrmw umin ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %j = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  %k = atomicrmw udec_wrap ptr addrspace(1) %p, i32 %v syncscope("device") acq_rel
  ret void
}
define void @operations_64(ptr addrspace(3) %p, i64 %v) {
  %a = atomicrmw xchg ptr addrspace(3) %p, i64 %v syncscope("block") acq_rel
  %b = atomicrmw sub ptr addrspace(3) %p, i64 1 syncscope("block") acq_rel
  %c = atomicrmw max ptr addrspace(3) %p, i64 %v syncscope("block") acq_rel
  %d = atomicrmw umin ptr addrspace(3) %p, i64 %v syncscope("block") acq_rel
  ret void
}
define float @fadd(ptr addrspace(1) %p, float %v, double %w) {
  %a = atomicrmw fadd ptr addrspace(1) %p, float %v syncscope("device") release
  %b = atomicrmw fadd ptr addrspace(1) %p, double %w syncscope("device") acquire
  %c = atomicrmw xchg ptr addrspace(1) %p, float %v syncscope("device") monotonic
  %d = atomicrmw fadd ptr addrspace(1) %p, float 0.5 syncscope("device") monotonic
  %sum = fadd float %a, %c
  ret float %sum
}
define ptr @pointer(ptr addrspace(1) %p, ptr %v) {
  %a = atomicrmw xchg ptr addrspace(1) %p, ptr %v acq_rel
  ret ptr %a
}
