; The greatest of floats, by compare and swap.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @float_max(ptr noundef %in, ptr noundef %max) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw float, ptr %in, i64 %idxprom
  %3 = load float, ptr %arrayidx, align 4
  %4 = load atomic i32, ptr %max syncscope("device") monotonic, align 4
  %r.0.i = bitcast i32 %4 to float
  %cmp.old = fcmp ogt float %3, %r.0.i
  br i1 %cmp.old, label %land.rhs.preheader, label %while.end

land.rhs.preheader:
  %5 = bitcast float %3 to i32
  br label %land.rhs

land.rhs:
  %old.0 = phi float [ %spec.select, %land.rhs ], [ %r.0.i, %land.rhs.preheader ]
  %6 = bitcast float %old.0 to i32
  %7 = cmpxchg weak ptr %max, i32 %6, i32 %5 syncscope("device") monotonic monotonic, align 4
  %8 = extractvalue { i32, i1 } %7, 1
  %9 = extractvalue { i32, i1 } %7, 0
  %10 = bitcast i32 %9 to float
  %spec.select = select i1 %8, float %old.0, float %10
  %cmp = fcmp uge float %spec.select, %3
  %or.cond.not = select i1 %8, i1 true, i1 %cmp
  br i1 %or.cond.not, label %while.end, label %land.rhs

while.end:
  ret void
}
