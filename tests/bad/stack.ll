; RUN:
target triple = "nvptx64-nvidia-cuda"
define i32 @f(i32 %v) {
  %slot = alloca [4 x i32]
  %p = getelementptr i32, ptr %slot, i64 2
  %old = atomicrmw xchg ptr %p, i32 %v seq_cst
  ret i32 %old
}
