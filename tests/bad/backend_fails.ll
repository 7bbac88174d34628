; RUN: --mcpu sm_70
; LLVM's backend ends the process on what it cannot select; the error names the function.
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.barrier.cluster.arrive()
define void @before(ptr addrspace(1) %p) {
  store atomic i32 1, ptr addrspace(1) %p release, align 4
  ret void
}
define void @needs_clusters(ptr addrspace(1) %p) {
  call void @llvm.nvvm.barrier.cluster.arrive()
  ret void
}
define void @after(ptr addrspace(1) %p) {
  ret void
}
