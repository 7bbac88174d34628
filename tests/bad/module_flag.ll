; RUN:
target triple = "nvptx64-nvidia-cuda"
define void @f() {
  fence release
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"ptx-atomics", !"strategy=fast;speed=high,fp-atomics=exact,generic-may-be-local=maybe"}
