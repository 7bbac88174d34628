; A flag that says that data is there. LLVM may move the load of the data in front of it, unless it is told that the assembly
; concerns memory.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @wrong(ptr addrspace(1) %flag, ptr addrspace(1) %data, ptr addrspace(1) %out) {
  %ready = call i32 asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l"(ptr addrspace(1) %flag)
  %value = load i32, ptr addrspace(1) %data
  %both = add i32 %ready, %value
  store i32 %both, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @right(ptr addrspace(1) %flag, ptr addrspace(1) %data, ptr addrspace(1) %out) {
  %ready = call i32 asm sideeffect "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l,~{memory}"(ptr addrspace(1) %flag)
  %value = load i32, ptr addrspace(1) %data
  %both = add i32 %ready, %value
  store i32 %both, ptr addrspace(1) %out
  ret void
}
