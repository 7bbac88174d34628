; One side of Dekker's entry: no two enter, which only sequential consistency gives.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @dekker(ptr noundef %mine, ptr noundef %theirs, ptr noundef %data) {
entry:
  store atomic i32 1, ptr %mine syncscope("device") seq_cst, align 4
  %0 = load atomic i32, ptr %theirs syncscope("device") seq_cst, align 4
  %cmp = icmp eq i32 %0, 0
  br i1 %cmp, label %if.then, label %if.end

if.then:
  %1 = load i32, ptr %data, align 4
  %add = add nsw i32 %1, 1
  store i32 %add, ptr %data, align 4
  br label %if.end

if.end:
  ret void
}
