; Drops a reference; the last one reads what the others wrote.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @refcount(ptr noundef %count, ptr noundef %object, ptr noundef %freed) {
entry:
  %0 = atomicrmw sub ptr %count, i32 1 syncscope("device") release, align 4
  %cmp = icmp eq i32 %0, 1
  br i1 %cmp, label %if.then, label %if.end

if.then:
  fence syncscope("device") acquire
  %1 = load i32, ptr %object, align 4
  store i32 %1, ptr %freed, align 4
  br label %if.end

if.end:
  ret void
}
