// TARGET: sm_90 ptx80

llvm.func @async() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  llvm.return
}

llvm.func @async_global() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
  llvm.return
}

llvm.func @async_shared_cta() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  llvm.return
}

llvm.func @async_shared_cluster() attributes {nvvm.kernel} {
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cluster>}
  llvm.return
}
