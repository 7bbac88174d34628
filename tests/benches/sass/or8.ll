; Sets flags in a byte for each group of elements.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @or8(ptr noundef %in, ptr noundef %flags) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %div7 = lshr i32 %add, 5
  %idxprom = zext nneg i32 %div7 to i64
  %arrayidx = getelementptr inbounds nuw i8, ptr %flags, i64 %idxprom
  %idxprom3 = zext i32 %add to i64
  %arrayidx4 = getelementptr inbounds nuw i8, ptr %in, i64 %idxprom3
  %3 = load i8, ptr %arrayidx4, align 1
  %4 = atomicrmw or ptr %arrayidx, i8 %3 syncscope("device") monotonic, align 1
  ret void
}
