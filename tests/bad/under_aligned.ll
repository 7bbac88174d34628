; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f(ptr addrspace(1) %p, i64 %v) {
  store atomic i64 %v, ptr addrspace(1) %p release, align 4
  ret void
}
