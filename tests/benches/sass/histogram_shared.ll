; A histogram of bytes: one in shared memory for each block, added to one in global memory.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@local = internal addrspace(3) global [256 x i32] undef, align 4

define ptx_kernel void @histogram_shared(ptr noundef %in, ptr noundef %bins) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %idxprom = zext nneg i32 %2 to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @local to ptr), i64 %idxprom
  store i32 0, ptr %arrayidx, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %idxprom4 = zext i32 %add to i64
  %arrayidx5 = getelementptr inbounds nuw i8, ptr %in, i64 %idxprom4
  %3 = load i8, ptr %arrayidx5, align 1
  %idxprom6 = zext i8 %3 to i64
  %arrayidx7 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @local to ptr), i64 %idxprom6
  %4 = atomicrmw add ptr %arrayidx7, i32 1 syncscope("block") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %arrayidx12 = getelementptr inbounds nuw i32, ptr %bins, i64 %idxprom
  %5 = load i32, ptr %arrayidx, align 4
  %6 = atomicrmw add ptr %arrayidx12, i32 %5 syncscope("device") monotonic, align 4
  ret void
}
