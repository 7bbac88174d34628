; RUN: --mcpu sm_50
; Before sm_60 no rmw reaches the system, and loads and stores do.
target triple = "nvptx64-nvidia-cuda"
define void @f(ptr addrspace(1) %p, ptr addrspace(3) %s) {
  %1 = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  %2 = cmpxchg ptr addrspace(1) %p, i32 1, i32 2 acq_rel acquire
  %3 = load atomic i32, ptr addrspace(1) %p acquire, align 4
  %4 = atomicrmw add ptr addrspace(3) %s, i32 1 acq_rel
  %5 = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("device") acq_rel
  ret void
}
