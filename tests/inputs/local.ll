; Memory that no other thread sees, and memory that nobody writes.
target triple = "nvptx64-nvidia-cuda"

@table = addrspace(4) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]

define i32 @stack(i32 %v) {
  %p = alloca i32
  store i32 7, ptr %p
  %pair = cmpxchg ptr %p, i32 7, i32 %v acq_rel acquire
  %old = atomicrmw umax ptr %p, i32 %v seq_cst
  %now = load atomic i32, ptr %p acquire, align 4
  %sum = add i32 %old, %now
  ret i32 %sum
}

define i8 @byte(ptr addrspace(5) %p, i8 %v) {
  %r = atomicrmw min ptr addrspace(5) %p, i8 %v acq_rel
  ret i8 %r
}

define half @half(ptr addrspace(5) %p, half %v) {
  %r = atomicrmw fadd ptr addrspace(5) %p, half %v acq_rel
  ret half %r
}

define i32 @either(i1 %choice, ptr addrspace(1) %global, i32 %v) {
  %p = alloca i32
  %generic = addrspacecast ptr addrspace(1) %global to ptr
  %q = select i1 %choice, ptr %p, ptr %generic
  %r = atomicrmw add ptr %q, i32 %v syncscope("device") acq_rel
  ret i32 %r
}

define i32 @constant(i64 %i) {
  %p = getelementptr i32, ptr addrspace(4) @table, i64 %i
  %r = load atomic i32, ptr addrspace(4) %p seq_cst, align 4
  ret i32 %r
}
