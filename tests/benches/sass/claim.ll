; Claims an object for its owner, or says who owns it.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @claim(ptr noundef %owner, ptr noundef %object, ptr noundef %out) {
entry:
  %0 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %1 = call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %mul = mul i32 %0, %1
  %2 = call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %add = add nuw nsw i32 %2, 1
  %add3 = add i32 %add, %mul
  %3 = cmpxchg ptr %owner, i32 0, i32 %add3 syncscope("device") acq_rel acquire, align 4
  %4 = extractvalue { i32, i1 } %3, 1
  br i1 %4, label %if.then, label %if.else

if.then:
  %5 = load i32, ptr %object, align 4
  %add5 = add nsw i32 %5, 1
  store i32 %add5, ptr %object, align 4
  br label %if.end

if.else:
  %6 = extractvalue { i32, i1 } %3, 0
  %idxprom = zext i32 %add3 to i64
  %arrayidx = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom
  store i32 %6, ptr %arrayidx, align 4
  br label %if.end

if.end:
  ret void
}
