; A bounded queue of a block in shared memory, of system scope: Rust has no other.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Slot = type { i32, i32 }

@slots = internal addrspace(3) global [64 x %struct.Slot] undef, align 4
@tail = internal addrspace(3) global i32 undef, align 4
@head = internal addrspace(3) global i32 undef, align 4

define ptx_kernel void @push(i32 noundef %mask, i32 noundef %value) {
entry:
  %slots = addrspacecast ptr addrspace(3) @slots to ptr
  %tail = addrspacecast ptr addrspace(3) @tail to ptr
  br label %bb1.sink.split

bb1.sink.split:
  %0 = load atomic i32, ptr %tail monotonic, align 4
  br label %bb1

bb1:
  %at.sroa.0.0 = phi i32 [ %_8.sroa.0.0.i, %bb2 ], [ %0, %bb1.sink.split ]
  %_7 = and i32 %at.sroa.0.0, %mask
  %_6 = zext i32 %_7 to i64
  %slot = getelementptr inbounds nuw %struct.Slot, ptr %slots, i64 %_6
  %1 = load atomic i32, ptr %slot acquire, align 4
  %_10 = icmp eq i32 %1, %at.sroa.0.0
  br i1 %_10, label %bb2, label %bb1.sink.split

bb2:
  %_14 = add i32 %at.sroa.0.0, 1
  %2 = cmpxchg weak ptr %tail, i32 %at.sroa.0.0, i32 %_14 seq_cst monotonic, align 4
  %_8.sroa.18.0.in.i = extractvalue { i32, i1 } %2, 1
  %_8.sroa.0.0.i = extractvalue { i32, i1 } %2, 0
  br i1 %_8.sroa.18.0.in.i, label %bb5, label %bb1

bb5:
  %3 = getelementptr inbounds nuw i8, ptr %slot, i64 4
  store i32 %value, ptr %3, align 4
  store atomic i32 %_14, ptr %slot release, align 4
  ret void
}

define ptx_kernel void @pop(i32 noundef %mask, ptr noundef %out) {
entry:
  %slots = addrspacecast ptr addrspace(3) @slots to ptr
  %head = addrspacecast ptr addrspace(3) @head to ptr
  br label %bb1.sink.split

bb1.sink.split:
  %0 = load atomic i32, ptr %head monotonic, align 4
  br label %bb1

bb1:
  %at.sroa.0.0 = phi i32 [ %_8.sroa.0.0.i, %bb2 ], [ %0, %bb1.sink.split ]
  %_7 = and i32 %at.sroa.0.0, %mask
  %_6 = zext i32 %_7 to i64
  %slot = getelementptr inbounds nuw %struct.Slot, ptr %slots, i64 %_6
  %1 = load atomic i32, ptr %slot acquire, align 4
  %_11 = add i32 %at.sroa.0.0, 1
  %_10 = icmp eq i32 %1, %_11
  br i1 %_10, label %bb2, label %bb1.sink.split

bb2:
  %2 = cmpxchg weak ptr %head, i32 %at.sroa.0.0, i32 %1 seq_cst monotonic, align 4
  %_8.sroa.18.0.in.i = extractvalue { i32, i1 } %2, 1
  %_8.sroa.0.0.i = extractvalue { i32, i1 } %2, 0
  br i1 %_8.sroa.18.0.in.i, label %bb5, label %bb1

bb5:
  %3 = getelementptr inbounds nuw i8, ptr %slot, i64 4
  %_18 = load i32, ptr %3, align 4
  store i32 %_18, ptr %out, align 4
  %_20 = add i32 %mask, 1
  %_19 = add i32 %_20, %at.sroa.0.0
  store atomic i32 %_19, ptr %slot release, align 4
  ret void
}
