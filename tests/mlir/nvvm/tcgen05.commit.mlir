// TARGET: sm_100a ptx86

llvm.func @generic_cta_1(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr : !llvm.ptr
  llvm.return
}

llvm.func @generic_cta_2(%addr: !llvm.ptr) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr {group = #nvvm.cta_group<cta_2>} : !llvm.ptr
  llvm.return
}

llvm.func @generic_multicast_cta_1(%addr: !llvm.ptr, %mask: i16) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr, multicast_mask = %mask : !llvm.ptr, i16
  llvm.return
}

llvm.func @generic_multicast_cta_2(%addr: !llvm.ptr, %mask: i16) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr, multicast_mask = %mask {group = #nvvm.cta_group<cta_2>} : !llvm.ptr, i16
  llvm.return
}

llvm.func @shared_cta_1(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_cta_2(%addr: !llvm.ptr<3>) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>
  llvm.return
}

llvm.func @shared_multicast_cta_1(%addr: !llvm.ptr<3>, %mask: i16) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr, multicast_mask = %mask : !llvm.ptr<3>, i16
  llvm.return
}

llvm.func @shared_multicast_cta_2(%addr: !llvm.ptr<3>, %mask: i16) attributes {nvvm.kernel} {
  nvvm.tcgen05.commit %addr, multicast_mask = %mask {group = #nvvm.cta_group<cta_2>} : !llvm.ptr<3>, i16
  llvm.return
}
