; RUN: --mcpu sm_90a --mattr +ptx80
; Calls that LLVM's backend has no instruction for on the target, each with its line, along with what is wrong about atomics.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.tcgen05.wait.ld()
declare void @llvm.nvvm.tcgen05.shift.down.cg1(ptr addrspace(6))
declare void @llvm.nvvm.fence.proxy.async_generic.acquire.sync_restrict.space.cluster.scope.cluster()
declare i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128)

define void @tensor_memory(ptr addrspace(6) %tensor) {
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  call void @llvm.nvvm.tcgen05.wait.ld()
  call void @llvm.nvvm.tcgen05.shift.down.cg1(ptr addrspace(6) %tensor)
  ret void
}

define i1 @is_canceled(i128 %response) {
  %canceled = call i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128 %response)
  ret i1 %canceled
}

define void @newer_version(ptr addrspace(1) %p) {
  call void @llvm.nvvm.fence.proxy.async_generic.acquire.sync_restrict.space.cluster.scope.cluster()
  store atomic i32 1, ptr addrspace(1) %p release, align 2
  ret void
}

define i32 @in_a_branch(i1 %c) {
  br i1 %c, label %wait, label %end
wait:
  call void
    @llvm.nvvm.tcgen05.wait.ld()
  br label %end
end:
  ret i32 0
}
