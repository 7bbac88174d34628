; Thread 0 of the grid publishes a message, also to the host; every other one waits for the flag and reads it.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @message(ptr noundef %flag, ptr noundef %data, ptr noundef %out) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add i32 %mul, %2
  %cmp = icmp eq i32 %add, 0
  br i1 %cmp, label %if.then, label %while.cond

if.then:
  store i32 42, ptr %data, align 4
  store atomic i32 1, ptr %flag release, align 4
  br label %if.end

while.cond:
  %3 = load atomic i32, ptr %flag acquire, align 4
  %cmp4 = icmp eq i32 %3, 0
  br i1 %cmp4, label %while.cond, label %while.end

while.end:
  %4 = load i32, ptr %data, align 4
  %idxprom = zext i32 %add to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom
  store i32 %4, ptr %arrayidx, align 4
  br label %if.end

if.end:
  ret void
}
