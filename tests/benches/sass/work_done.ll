; Writes a result and counts the work that is left down. Who waits for zero reads the results.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @work_done(ptr noundef %out, i32 noundef %value, ptr noundef %left) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom
  store i32 %value, ptr %arrayidx, align 4
  %3 = atomicrmw sub ptr %left, i32 1 syncscope("device") release, align 4
  ret void
}
