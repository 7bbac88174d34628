; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() "target-cpu"="sm_64" {
  fence release
  ret void
}
