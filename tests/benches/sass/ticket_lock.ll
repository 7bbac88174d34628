; A ticket lock around a plain counter.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @ticket_lock(ptr noundef %lock, ptr noundef %data) {
entry:
  %0 = atomicrmw add ptr %lock, i32 1 syncscope("device") monotonic, align 4
  %arrayidx1 = getelementptr inbounds nuw i8, ptr %lock, i64 4
  br label %while.cond

while.cond:
  %1 = load atomic i32, ptr %arrayidx1 syncscope("device") acquire, align 4
  %cmp.not = icmp eq i32 %1, %0
  br i1 %cmp.not, label %while.end, label %while.cond

while.end:
  %2 = load i32, ptr %data, align 4
  %add = add nsw i32 %2, 1
  store i32 %add, ptr %data, align 4
  %add3 = add i32 %0, 1
  store atomic i32 %add3, ptr %arrayidx1 syncscope("device") release, align 4
  ret void
}
