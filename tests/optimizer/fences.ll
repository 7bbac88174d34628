; Fences beside fences, and beside operations that order.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @twice(ptr addrspace(1) %data, ptr addrspace(1) %flag, i32 %value) {
  store i32 %value, ptr addrspace(1) %data
  fence syncscope("device") release
  store atomic i32 1, ptr addrspace(1) %flag syncscope("device") release, align 4
  ret void
}

; crossbeam's and many others': a fence in front of an operation that has one of its own.
define ptx_kernel void @consistent(ptr addrspace(1) %mine, ptr addrspace(1) %other, ptr addrspace(1) %out) {
  store atomic i32 1, ptr addrspace(1) %mine monotonic, align 4
  fence seq_cst
  %seen = load atomic i32, ptr addrspace(1) %other seq_cst, align 4
  store i32 %seen, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @joined(ptr addrspace(1) %flag, ptr addrspace(1) %next, ptr addrspace(1) %out) {
  %seen = load atomic i32, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  fence syncscope("device") acquire
  fence syncscope("device") release
  store atomic i32 %seen, ptr addrspace(1) %next syncscope("device") monotonic, align 4
  ret void
}
