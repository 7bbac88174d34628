; Each thread adds 1 to one word.
; run: grid=2 block=32 out=u32[1] expect out == 64
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @count(ptr addrspace(1) %out) {
  %old = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope("device") monotonic
  ret void
}
