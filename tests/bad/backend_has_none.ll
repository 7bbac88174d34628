; RUN: --mcpu sm_90 --mattr +ptx80
; The backend names no intrinsic, but a node of its own with addresses in its memory.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128)

define i32 @fine() {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %id
}

define i1 @is_canceled(ptr addrspace(3) %response) {
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %response.value = load i128, ptr addrspace(3) %response
  %canceled = call i1 @llvm.nvvm.clusterlaunchcontrol.query_cancel.is_canceled(i128 %response.value)
  ret i1 %canceled
}
