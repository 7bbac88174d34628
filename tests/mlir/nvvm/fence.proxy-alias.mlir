// TARGET: sm_70 ptx75

llvm.func @alias() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<alias>}
  llvm.return
}
