// TARGET: sm_100a ptx86
// Tiles come by bulk copies, one thread multiplies them into tensor memory, and all threads write the sum.

llvm.mlir.global internal @left() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16384 x i8>
llvm.mlir.global internal @right() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8192 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : i64
llvm.mlir.global internal @done() {addr_space = 3 : i32, alignment = 8 : i64} : i64
llvm.mlir.global internal @columns() {addr_space = 3 : i32, alignment = 4 : i64} : i32

llvm.func @matmul(%a: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                  %b: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %out: !llvm.ptr<1>, %rounds: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %false = llvm.mlir.constant(false) : i1
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %c64 = llvm.mlir.constant(64 : i32) : i32
  %c96 = llvm.mlir.constant(96 : i32) : i32
  %bytes = llvm.mlir.constant(24576 : i32) : i32
  %ticks = llvm.mlir.constant(10000000 : i32) : i32
  %idesc = llvm.mlir.constant(135266448 : i32) : i32
  %layout = llvm.mlir.constant(4611756662049538048 : i64) : i64
  %left = llvm.mlir.addressof @left : !llvm.ptr<3>
  %right = llvm.mlir.addressof @right : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %done = llvm.mlir.addressof @done : !llvm.ptr<3>
  %columns = llvm.mlir.addressof @columns : !llvm.ptr<3>
  %left_cluster = llvm.addrspacecast %left : !llvm.ptr<3> to !llvm.ptr<7>
  %right_cluster = llvm.addrspacecast %right : !llvm.ptr<3> to !llvm.ptr<7>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %leader = llvm.icmp "eq" %thread, %c0 : i32
  %first = llvm.icmp "ult" %thread, %c32 : i32
  llvm.cond_br %leader, ^init, ^initialized
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  llvm.br ^initialized
^initialized:
  llvm.cond_br %first, ^alloc, ^ready
^alloc:
  nvvm.tcgen05.alloc %columns, %c64 : !llvm.ptr<3>, i32
  nvvm.tcgen05.relinquish_alloc_permit
  llvm.br ^ready
^ready:
  nvvm.barrier0
  %address = llvm.load %columns : !llvm.ptr<3> -> i32
  %tmem = llvm.inttoptr %address : i32 to !llvm.ptr<6>
  %at_left = llvm.ptrtoint %left : !llvm.ptr<3> to i32
  %left_units = llvm.lshr %at_left, %c4 : i32
  %left_wide = llvm.zext %left_units : i32 to i64
  %x = llvm.or %left_wide, %layout : i64
  %at_right = llvm.ptrtoint %right : !llvm.ptr<3> to i32
  %right_units = llvm.lshr %at_right, %c4 : i32
  %right_wide = llvm.zext %right_units : i32 to i64
  %y = llvm.or %right_wide, %layout : i64
  llvm.br ^round(%c0 : i32)
^round(%round: i32):
  %parity = llvm.and %round, %c1 : i32
  llvm.cond_br %leader, ^load, ^wait
^load:
  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.tensor.shared.cluster.global %left_cluster, %a, %full, box[%c0, %round] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %right_cluster, %b, %full, box[%c0, %round] : !llvm.ptr<7>, !llvm.ptr
  nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
  %more_than_first = llvm.icmp "ne" %round, %c0 : i32
  nvvm.tcgen05.mma %tmem, %x, %y, %idesc, %more_than_first {kind = #nvvm.tcgen05_mma_kind<f16>, ctaGroup = #nvvm.cta_group<cta_1>}
    : (!llvm.ptr<6>, i64, i64, i32, i1)
  nvvm.tcgen05.commit %done : !llvm.ptr<3>
  llvm.br ^wait
^wait:
  nvvm.mbarrier.try_wait.parity %done, %parity, %ticks : !llvm.ptr<3>, i32, i32
  %after = llvm.add %round, %c1 : i32
  %more = llvm.icmp "ult" %after, %rounds : i32
  llvm.cond_br %more, ^round(%after : i32), ^write
^write:
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>
  %warp = llvm.and %thread, %c96 : i32
  %rows = llvm.shl %warp, %c16 : i32
  %lanes_address = llvm.add %address, %rows : i32
  %lanes = llvm.inttoptr %lanes_address : i32 to !llvm.ptr<6>
  %value = nvvm.tcgen05.ld %lanes {shape = #nvvm.tcgen05_ldst_shape<shape_32x32b>} : vector<4xi32>
  nvvm.tcgen05.wait #nvvm.tcgen05_wait<load>
  %index = llvm.mul %thread, %c4 : i32
  %mine = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
  llvm.store %value, %mine : vector<4xi32>, !llvm.ptr<1>
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<before>
  nvvm.barrier0
  llvm.cond_br %first, ^free, ^end
^free:
  nvvm.tcgen05.fence #nvvm.tcgen05_fence<after>
  nvvm.tcgen05.dealloc %tmem, %c64 : !llvm.ptr<6>, i32
  llvm.br ^end
^end:
  llvm.return
}
