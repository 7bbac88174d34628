; Loads and stores of each ordering, type and address space.
target triple = "nvptx64-nvidia-cuda"

define i32 @load_relaxed(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p monotonic, align 4
  ret i32 %v
}
define i64 @load_acquire_device(ptr addrspace(3) %p) {
  %v = load atomic i64, ptr addrspace(3) %p syncscope("device") acquire, align 8
  ret i64 %v
}
define float @load_seq_cst_block(ptr %p) {
  %v = load atomic float, ptr %p syncscope("block") seq_cst, align 4
  ret float %v
}
define ptr @load_pointer(ptr addrspace(1) %p) {
  %v = load atomic ptr, ptr addrspace(1) %p acquire, align 8
  ret ptr %v
}
define i32 @load_unordered(ptr addrspace(1) %p) {
  %v = load atomic i32, ptr addrspace(1) %p unordered, align 4
  ret i32 %v
}
define void @store_release(ptr addrspace(1) %p, i32 %v) {
  store atomic i32 %v, ptr addrspace(1) %p release, align 4
  ret void
}
define void @store_seq_cst(ptr addrspace(1) %p, double %v) {
  store atomic double %v, ptr addrspace(1) %p seq_cst, align 8
  ret void
}
define void @store_cluster(ptr addrspace(1) %p, i64 %v) {
  store atomic i64 %v, ptr addrspace(1) %p syncscope("cluster") release, align 8
  ret void
}
define void @store_singlethread(ptr addrspace(1) %p, i32 %v) {
  store atomic i32 %v, ptr addrspace(1) %p syncscope("singlethread") seq_cst, align 4
  ret void
}
define i32 @load_volatile_acquire(ptr addrspace(1) %p) {
  %v = load atomic volatile i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  ret i32 %v
}
define void @store_volatile_release(ptr addrspace(1) %p, i32 %v) {
  store atomic volatile i32 %v, ptr addrspace(1) %p release, align 4
  ret void
}
define void @store_constants(ptr addrspace(1) %p) {
  store atomic i32 -1, ptr addrspace(1) %p release, align 4
  store atomic float 1.0, ptr addrspace(1) %p release, align 4
  store atomic ptr null, ptr addrspace(1) %p release, align 8
  store atomic double 0x7FF8000000000001, ptr addrspace(1) %p release, align 8
  ret void
}
