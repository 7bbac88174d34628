; Addresses: globals, shared memory, kernel parameters, constant offsets, and what inference resolves.
target triple = "nvptx64-nvidia-cuda"

@counter = addrspace(1) global [4 x i32] zeroinitializer
@unspecified = global i64 0
@histogram = internal addrspace(3) global [256 x i32] undef
@old = addrspace(1) global i32 0

define ptx_kernel void @kernel(ptr %p, i64 %i) {
  %next = getelementptr i32, ptr %p, i64 3
  %before = getelementptr i32, ptr %p, i64 -1
  %element = getelementptr i32, ptr %p, i64 %i
  %a = atomicrmw add ptr %next, i32 1 syncscope("device") monotonic
  %b = atomicrmw add ptr %before, i32 1 syncscope("device") monotonic
  %c = atomicrmw add ptr %element, i32 1 syncscope("device") monotonic
  ret void
}
define void @globals() {
  %a = atomicrmw add ptr addrspace(1) @counter, i32 1 syncscope("device") monotonic
  %b = atomicrmw add ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @counter, i64 8), i32 1 syncscope("device") monotonic
  %c = atomicrmw add ptr @unspecified, i64 1 syncscope("device") monotonic
  ret void
}
define void @shared(i64 %i) {
  %generic = addrspacecast ptr addrspace(3) @histogram to ptr
  %bin = getelementptr i32, ptr %generic, i64 %i
  %a = atomicrmw add ptr %bin, i32 1 syncscope("block") monotonic
  ret void
}
; A name of our own loops must not hide a global.
define i32 @names() {
  %a = atomicrmw nand ptr addrspace(1) @old, i32 1 syncscope("device") monotonic
  ret i32 %a
}
define void @through_a_stack_slot(ptr addrspace(1) %p) {
  %slot = alloca ptr
  %generic = addrspacecast ptr addrspace(1) %p to ptr
  store ptr %generic, ptr %slot
  %again = load ptr, ptr %slot
  %a = atomicrmw add ptr %again, i32 1 syncscope("device") monotonic
  ret void
}
; An index that must not overflow at the first address does not at the second, which is four bytes behind.
define void @no_overflow(ptr addrspace(1) %p, i32 %i, i32 %n) {
  %index = add nsw i32 %i, %n
  %wide = sext i32 %index to i64
  %here = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %wide
  %a = atomicrmw add ptr addrspace(1) %here, i32 1 syncscope("device") monotonic
  %behind = add i32 %n, 1
  %next = add i32 %i, %behind
  %next.wide = sext i32 %next to i64
  %there = getelementptr inbounds i32, ptr addrspace(1) %p, i64 %next.wide
  %b = atomicrmw add ptr addrspace(1) %there, i32 1 syncscope("device") monotonic
  ret void
}
; The pointers in what a kernel takes by value are global, behind a branch too.
define ptx_kernel void @structure(ptr byval({ i64, ptr, ptr }) align 8 %p, i1 %c) {
  %first = getelementptr i8, ptr %p, i64 8
  %second = getelementptr i8, ptr %p, i64 16
  %q = load ptr, ptr %first
  %r = load ptr, ptr %second
  %either = select i1 %c, ptr %q, ptr %r
  %next = getelementptr i32, ptr %either, i64 3
  %a = atomicrmw add ptr %next, i32 1 syncscope("device") monotonic
  ret void
}
; What a function takes by value, others wrote.
define void @no_kernel(ptr byval({ i64, ptr }) align 8 %p) {
  %first = getelementptr i8, ptr %p, i64 8
  %q = load ptr, ptr %first
  %a = atomicrmw add ptr %q, i32 1 syncscope("device") monotonic
  ret void
}
