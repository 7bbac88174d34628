; RUN:
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.memcpy.element.unordered.atomic.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i32)
define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  call void @llvm.memcpy.element.unordered.atomic.p1.p1.i64(ptr addrspace(1) align 4 %p, ptr addrspace(1) align 4 %q, i64 16, i32 4)
  ret void
}
