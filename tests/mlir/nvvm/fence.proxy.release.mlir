// TARGET: sm_90 ptx83

llvm.func @cta() attributes {nvvm.kernel} {
  nvvm.fence.proxy.release #nvvm.mem_scope<cta>
  llvm.return
}

llvm.func @cluster() attributes {nvvm.kernel} {
  nvvm.fence.proxy.release #nvvm.mem_scope<cluster>
  llvm.return
}

llvm.func @gpu() attributes {nvvm.kernel} {
  nvvm.fence.proxy.release #nvvm.mem_scope<gpu>
  llvm.return
}

llvm.func @sys() attributes {nvvm.kernel} {
  nvvm.fence.proxy.release #nvvm.mem_scope<sys>
  llvm.return
}
