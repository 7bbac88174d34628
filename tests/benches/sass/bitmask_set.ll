; Marks vertices as visited in a bit set, and says which were not before.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @bitmask_set(ptr noundef %vertices, ptr noundef %visited, ptr noundef %first) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr %vertices, i64 %idxprom
  %3 = load i32, ptr %arrayidx, align 4
  %rem = and i32 %3, 31
  %shl = shl nuw i32 1, %rem
  %div11 = lshr i32 %3, 5
  %idxprom3 = zext nneg i32 %div11 to i64
  %arrayidx4 = getelementptr inbounds nuw i32, ptr %visited, i64 %idxprom3
  %4 = atomicrmw or ptr %arrayidx4, i32 %shl syncscope("device") monotonic, align 4
  %and = and i32 %shl, %4
  %cmp = icmp eq i32 %and, 0
  %conv = zext i1 %cmp to i8
  %arrayidx7 = getelementptr inbounds nuw i8, ptr %first, i64 %idxprom
  store i8 %conv, ptr %arrayidx7, align 1
  ret void
}
