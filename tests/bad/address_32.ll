; RUN: --mcpu sm_90
target triple = "nvptx-nvidia-cuda"

define i32 @next(ptr addrspace(1) %counter) {
  %old = atomicrmw add ptr addrspace(1) %counter, i32 1 monotonic
  ret i32 %old
}
