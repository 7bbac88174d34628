; Reads two words that a writer guards by a sequence number.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @seqlock_reader(ptr noundef %sequence, ptr noundef %data, ptr noundef %out) {
entry:
  %arrayidx4 = getelementptr inbounds nuw i8, ptr %data, i64 4
  br label %do.body

do.body:
  %0 = load atomic i32, ptr %sequence syncscope("device") acquire, align 4
  %1 = load atomic i32, ptr %data syncscope("device") monotonic, align 4
  %2 = load atomic i32, ptr %arrayidx4 syncscope("device") monotonic, align 4
  fence syncscope("device") acquire
  %3 = load atomic i32, ptr %sequence syncscope("device") monotonic, align 4
  %cmp.not = icmp eq i32 %0, %3
  %rem = and i32 %0, 1
  %cmp8.not = icmp eq i32 %rem, 0
  %or.cond = and i1 %cmp8.not, %cmp.not
  br i1 %or.cond, label %do.end, label %do.body

do.end:
  %add = add i32 %2, %1
  %4 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %idxprom = zext nneg i32 %4 to i64
  %arrayidx10 = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom
  store i32 %add, ptr %arrayidx10, align 4
  ret void
}
