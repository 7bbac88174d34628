; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() "target-cpu"="sm_61" {
  fence release
  ret void
}
