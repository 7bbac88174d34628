; What plain Rust makes of a lock in shared memory: every atomic has the scope of the system.
target triple = "nvptx64-nvidia-cuda"

@lock = internal addrspace(3) global i32 undef, align 4
@sum = internal addrspace(3) global i32 undef, align 4

define ptx_kernel void @locked_sum(i32 %value) {
entry:
  br label %try

try:
  %pair = cmpxchg ptr addrspace(3) @lock, i32 0, i32 1 acquire monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %critical, label %try

critical:
  %old = load i32, ptr addrspace(3) @sum
  %new = add i32 %old, %value
  store i32 %new, ptr addrspace(3) @sum
  store atomic i32 0, ptr addrspace(3) @lock release, align 4
  ret void
}

define ptx_kernel void @counted(ptr addrspace(1) %out) {
  %old = atomicrmw add ptr addrspace(3) @sum, i32 1 acq_rel
  store i32 %old, ptr addrspace(1) %out
  ret void
}

; The fence orders by a store that only threads of the CTA see.
define ptx_kernel void @fenced(ptr addrspace(1) %data, i32 %value) {
  store i32 %value, ptr addrspace(1) %data
  fence release
  store atomic i32 1, ptr addrspace(3) @lock monotonic, align 4
  ret void
}
