; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() "target-cpu"="sm_80" "target-features"="+ptx70" {
  ret void
}
define void @g() "target-cpu"="sm_90" "target-features"="+ptx80" {
  ret void
}
