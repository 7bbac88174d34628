; RUN: --mcpu sm_80 --mattr +ptx78
; More than PTX has on the target, or on any, and types without arithmetic.
target triple = "nvptx64-nvidia-cuda"
define void @f(ptr addrspace(1) %p, i128 %a, fp128 %b) {
  store atomic i128 %a, ptr addrspace(1) %p syncscope("device") monotonic, align 16
  %1 = atomicrmw add ptr addrspace(1) %p, i128 %a monotonic
  %2 = load atomic i256, ptr addrspace(1) %p monotonic, align 32
  %3 = atomicrmw fadd ptr addrspace(1) %p, fp128 %b monotonic
  %4 = atomicrmw fadd ptr addrspace(1) %p, <8 x float> zeroinitializer monotonic
  ret void
}
