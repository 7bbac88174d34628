; Adds floats in shared memory, block by block.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@sum = internal addrspace(3) global float undef, align 4

define ptx_kernel void @float_sum_shared(ptr noundef %in, ptr noundef %sums) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %cmp = icmp eq i32 %2, 0
  br i1 %cmp, label %if.then, label %if.end

if.then:
  store float 0.000000e+00, ptr addrspacecast (ptr addrspace(3) @sum to ptr), align 4
  br label %if.end

if.end:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw float, ptr %in, i64 %idxprom
  %3 = load float, ptr %arrayidx, align 4
  %4 = atomicrmw fadd ptr addrspacecast (ptr addrspace(3) @sum to ptr), float %3 syncscope("block") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %cmp, label %if.then7, label %if.end11

if.then7:
  %idxprom9 = zext nneg i32 %0 to i64
  %arrayidx10 = getelementptr inbounds nuw float, ptr %sums, i64 %idxprom9
  %5 = load float, ptr addrspacecast (ptr addrspace(3) @sum to ptr), align 4
  store float %5, ptr %arrayidx10, align 4
  br label %if.end11

if.end11:
  ret void
}
