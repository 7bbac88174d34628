; RUN: --mcpu sm_80
target triple = "nvptx64-nvidia-cuda"
define i32 @f(ptr addrspace(7) %p) {
  %v = load atomic i32, ptr addrspace(7) %p acquire, align 4
  ret i32 %v
}
