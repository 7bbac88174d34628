// TARGET: sm_90 ptx83

llvm.func @cta(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  %size = llvm.mlir.constant(128 : i32) : i32
  nvvm.fence.proxy.acquire #nvvm.mem_scope<cta> %addr, %size
  llvm.return
}

llvm.func @cluster(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  %size = llvm.mlir.constant(128 : i32) : i32
  nvvm.fence.proxy.acquire #nvvm.mem_scope<cluster> %addr, %size
  llvm.return
}

llvm.func @gpu(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  %size = llvm.mlir.constant(128 : i32) : i32
  nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %addr, %size
  llvm.return
}

llvm.func @sys(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  %size = llvm.mlir.constant(128 : i32) : i32
  nvvm.fence.proxy.acquire #nvvm.mem_scope<sys> %addr, %size
  llvm.return
}
