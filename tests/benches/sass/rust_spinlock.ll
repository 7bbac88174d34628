; Rust's AtomicBool as a lock of plain data, of system scope as all of core::sync::atomic.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @rust_spinlock(ptr noundef %lock, ptr noundef %data) {
entry:
  br label %bb1

bb1:
  %0 = atomicrmw xchg ptr %lock, i8 1 acquire, align 1
  %1 = icmp eq i8 %0, 0
  br i1 %1, label %bb3, label %bb1

bb3:
  %2 = load i32, ptr %data, align 4
  %3 = add i32 %2, 1
  store i32 %3, ptr %data, align 4
  store atomic i8 0, ptr %lock release, align 1
  ret void
}
