; A ring buffer for many producers and consumers: a ticket names the slot, whose sequence number says whose turn it is.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Slot = type { i32, i32 }

define ptx_kernel void @push(ptr noundef %slots, ptr noundef %tail, i32 noundef %mask, i32 noundef %value) {
entry:
  %0 = atomicrmw add ptr %tail, i32 1 syncscope("device") acq_rel, align 4
  %and = and i32 %0, %mask
  %idxprom = zext i32 %and to i64
  %arrayidx = getelementptr inbounds nuw %struct.Slot, ptr %slots, i64 %idxprom
  br label %while.cond

while.cond:
  %1 = load atomic i32, ptr %arrayidx syncscope("device") acquire, align 4
  %cmp.not = icmp eq i32 %1, %0
  br i1 %cmp.not, label %while.end, label %while.cond

while.end:
  %value3 = getelementptr inbounds nuw i8, ptr %arrayidx, i64 4
  store i32 %value, ptr %value3, align 4
  %add = add i32 %0, 1
  store atomic i32 %add, ptr %arrayidx syncscope("device") release, align 4
  ret void
}

define ptx_kernel void @pop(ptr noundef %slots, ptr noundef %head, i32 noundef %mask, ptr noundef %out) {
entry:
  %0 = atomicrmw add ptr %head, i32 1 syncscope("device") acq_rel, align 4
  %and = and i32 %0, %mask
  %idxprom = zext i32 %and to i64
  %arrayidx = getelementptr inbounds nuw %struct.Slot, ptr %slots, i64 %idxprom
  %add = add i32 %0, 1
  br label %while.cond

while.cond:
  %1 = load atomic i32, ptr %arrayidx syncscope("device") acquire, align 4
  %cmp.not = icmp eq i32 %1, %add
  br i1 %cmp.not, label %while.end, label %while.cond

while.end:
  %value = getelementptr inbounds nuw i8, ptr %arrayidx, i64 4
  %2 = load i32, ptr %value, align 4
  store i32 %2, ptr %out, align 4
  %add4 = add i32 %add, %mask
  store atomic i32 %add4, ptr %arrayidx syncscope("device") release, align 4
  ret void
}
