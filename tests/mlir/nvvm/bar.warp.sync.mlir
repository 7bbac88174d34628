// TARGET: sm_30 ptx60

llvm.func @bar_warp_sync(%mask: i32) attributes {nvvm.kernel} {
  nvvm.bar.warp.sync %mask : i32
  llvm.return
}
