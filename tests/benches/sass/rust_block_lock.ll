; A lock of a block in shared memory, of system scope: Rust has no other.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@lock = internal addrspace(3) global i32 undef, align 4
@data = internal addrspace(3) global i32 undef, align 4

define ptx_kernel void @rust_block_lock() {
entry:
  %lock = addrspacecast ptr addrspace(3) @lock to ptr
  %data = addrspacecast ptr addrspace(3) @data to ptr
  br label %bb1

bb1:
  %0 = cmpxchg weak ptr %lock, i32 0, i32 1 acquire monotonic, align 4
  %_8.sroa.18.0.in.i = extractvalue { i32, i1 } %0, 1
  br i1 %_8.sroa.18.0.in.i, label %bb3, label %bb1

bb3:
  %1 = load i32, ptr %data, align 4
  %2 = add i32 %1, 1
  store i32 %2, ptr %data, align 4
  store atomic i32 0, ptr %lock release, align 4
  ret void
}
