; A count of references as Rust's Arc: one is taken and dropped.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @rust_arc(ptr noundef %count, ptr noundef %object, ptr noundef %freed) {
entry:
  %0 = atomicrmw add ptr %count, i64 1 monotonic, align 8
  %seen = load i32, ptr %object, align 4
  %1 = atomicrmw sub ptr %count, i64 1 release, align 8
  %2 = icmp eq i64 %1, 1
  br i1 %2, label %bb1, label %bb4

bb1:
  fence acquire
  %_8 = load i32, ptr %object, align 4
  %3 = add i32 %_8, %seen
  store i32 %3, ptr %freed, align 4
  br label %bb4

bb4:
  ret void
}
