; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() {
  fence syncscope("agent") release
  ret void
}
