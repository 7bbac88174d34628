; A test-and-set lock around a plain counter.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @spinlock(ptr noundef %lock, ptr noundef %data) {
entry:
  br label %while.cond

while.cond:
  %0 = atomicrmw xchg ptr %lock, i32 1 syncscope("device") acquire, align 4
  %cmp.not = icmp eq i32 %0, 0
  br i1 %cmp.not, label %while.end, label %while.cond

while.end:
  %1 = load i32, ptr %data, align 4
  %add = add nsw i32 %1, 1
  store i32 %add, ptr %data, align 4
  store atomic i32 0, ptr %lock syncscope("device") release, align 4
  ret void
}
