; A histogram of bytes in global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @histogram_global(ptr noundef %in, ptr noundef %bins) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw i8, ptr %in, i64 %idxprom
  %3 = load i8, ptr %arrayidx, align 1
  %idxprom3 = zext i8 %3 to i64
  %arrayidx4 = getelementptr inbounds nuw i32, ptr %bins, i64 %idxprom3
  %4 = atomicrmw add ptr %arrayidx4, i32 1 syncscope("device") monotonic, align 4
  ret void
}
