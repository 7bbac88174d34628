; A sequence lock as crossbeam's: a reader, and writers that lock each other out.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @read(ptr noundef %sequence, ptr noundef %data, ptr noundef %out) {
entry:
  %_10 = getelementptr inbounds nuw i8, ptr %data, i64 4
  br label %bb1

bb1:
  %0 = load atomic i32, ptr %sequence acquire, align 4
  %_5 = and i32 %0, 1
  %1 = icmp eq i32 %_5, 0
  br i1 %1, label %bb2, label %bb1.backedge

bb2:
  %2 = load atomic i32, ptr %data monotonic, align 4
  %3 = load atomic i32, ptr %_10 monotonic, align 4
  fence acquire
  %4 = load atomic i32, ptr %sequence monotonic, align 4
  %_12 = icmp eq i32 %4, %0
  br i1 %_12, label %bb4, label %bb1.backedge

bb1.backedge:
  br label %bb1

bb4:
  %sum = add i32 %3, %2
  store i32 %sum, ptr %out, align 4
  ret void
}

define ptx_kernel void @write(ptr noundef %sequence, ptr noundef %data, i32 noundef %value) {
entry:
  br label %bb1

bb1:
  %0 = atomicrmw xchg ptr %sequence, i32 1 acquire, align 4
  %1 = icmp eq i32 %0, 1
  br i1 %1, label %bb1, label %bb2

bb2:
  fence release
  store atomic i32 %value, ptr %data monotonic, align 4
  %_7 = getelementptr inbounds nuw i8, ptr %data, i64 4
  store atomic i32 %value, ptr %_7 monotonic, align 4
  %_8 = add i32 %0, 2
  store atomic i32 %_8, ptr %sequence release, align 4
  ret void
}
