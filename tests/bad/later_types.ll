; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f(ptr addrspace(1) %p, i8 %a, i16 %b, i128 %c, half %d, bfloat %e, <2 x half> %f) {
  %1 = atomicrmw add ptr addrspace(1) %p, i8 %a monotonic
  store atomic i16 %b, ptr addrspace(1) %p monotonic, align 2
  store atomic i128 %c, ptr addrspace(1) %p monotonic, align 16
  %2 = atomicrmw fadd ptr addrspace(1) %p, half %d monotonic
  %3 = atomicrmw fadd ptr addrspace(1) %p, bfloat %e monotonic
  %4 = atomicrmw fadd ptr addrspace(1) %p, <2 x half> %f monotonic
  ret void
}
