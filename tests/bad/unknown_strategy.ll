; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() "ptx-atomics-strategy"="rmw.acq_rel=fast" {
  fence release
  ret void
}
