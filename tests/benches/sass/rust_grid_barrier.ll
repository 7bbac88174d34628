; A barrier of all blocks of the grid, of system scope as all of core::sync::atomic.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @rust_grid_barrier(ptr noundef %arrived, ptr noundef %generation, i32 noundef %blocks) {
entry:
  %0 = load atomic i32, ptr %generation monotonic, align 4
  %1 = atomicrmw add ptr %arrived, i32 1 acq_rel, align 4
  %_7 = add i32 %blocks, -1
  %_5 = icmp eq i32 %1, %_7
  br i1 %_5, label %bb1, label %bb3

bb1:
  store atomic i32 0, ptr %arrived monotonic, align 4
  %_8 = add i32 %0, 1
  store atomic i32 %_8, ptr %generation release, align 4
  br label %bb6

bb3:
  %2 = load atomic i32, ptr %generation acquire, align 4
  %_9 = icmp eq i32 %2, %0
  br i1 %_9, label %bb3, label %bb6

bb6:
  ret void
}
