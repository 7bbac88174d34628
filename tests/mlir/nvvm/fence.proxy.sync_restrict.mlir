// TARGET: sm_90 ptx86

llvm.func @acquire() attributes {nvvm.kernel} {
  nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<acquire>}
  llvm.return
}

llvm.func @release() attributes {nvvm.kernel} {
  nvvm.fence.proxy.sync_restrict {order = #nvvm.mem_order<release>}
  llvm.return
}
