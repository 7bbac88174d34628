; A barrier of all blocks of the grid: the last one to come starts the next generation.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @grid_barrier(ptr noundef %barrier) {
entry:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cmp = icmp eq i32 %0, 0
  br i1 %cmp, label %if.then, label %if.end9

if.then:
  %arrayidx1 = getelementptr inbounds nuw i8, ptr %barrier, i64 4
  %1 = load atomic i32, ptr %arrayidx1 syncscope("device") monotonic, align 4
  %2 = atomicrmw add ptr %barrier, i32 1 syncscope("device") acq_rel, align 4
  %3 = call noundef i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %sub = add nsw i32 %3, -1
  %cmp5 = icmp eq i32 %2, %sub
  br i1 %cmp5, label %if.then6, label %while.cond

if.then6:
  store atomic i32 0, ptr %barrier syncscope("device") monotonic, align 4
  %add = add i32 %1, 1
  store atomic i32 %add, ptr %arrayidx1 syncscope("device") release, align 4
  br label %if.end9

while.cond:
  %4 = load atomic i32, ptr %arrayidx1 syncscope("device") acquire, align 4
  %cmp8 = icmp eq i32 %4, %1
  br i1 %cmp8, label %while.cond, label %if.end9

if.end9:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
