; Orderings that no thread can see.
target triple = "nvptx64-nvidia-cuda"

@slot = internal addrspace(3) global i32 undef, align 4

; No atomic write follows the second fence.
define ptx_kernel void @last_fence(ptr addrspace(1) %data, ptr addrspace(1) %flag) {
  store i32 1, ptr addrspace(1) %data
  fence release
  store atomic i32 1, ptr addrspace(1) %flag monotonic, align 4
  fence acq_rel
  ret void
}

; A CTA of one thread orders nothing for itself.
define ptx_kernel void @alone(ptr addrspace(1) %data, i32 %value) #0 {
  store i32 %value, ptr addrspace(1) %data
  %old = atomicrmw add ptr addrspace(3) @slot, i32 1 syncscope("block") acq_rel
  store i32 %old, ptr addrspace(1) %data
  ret void
}

; A kernel that only waits hands on what it learned: this stays.
define ptx_kernel void @wait_once(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  store i32 0, ptr addrspace(1) %out
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  ret void
}

attributes #0 = { "nvvm.reqntid"="1,1,1" }
