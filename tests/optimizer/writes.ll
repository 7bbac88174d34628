; Loops that need not write.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @greatest(ptr addrspace(1) %most, float %value) {
  %old = atomicrmw fmax ptr addrspace(1) %most, float %value syncscope("device") monotonic
  ret void
}

define ptx_kernel void @least_byte(ptr addrspace(1) %least, i8 %value) {
  %old = atomicrmw umin ptr addrspace(1) %least, i8 %value syncscope("device") monotonic
  ret void
}

; The write passes on what the fence releases.
define ptx_kernel void @published(ptr addrspace(1) %data, ptr addrspace(1) %most, float %value) {
  store float %value, ptr addrspace(1) %data
  fence syncscope("device") release
  %old = atomicrmw fmax ptr addrspace(1) %most, float %value syncscope("device") monotonic
  ret void
}
