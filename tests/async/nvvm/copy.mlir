// TARGET: sm_90a ptx80
// A tile comes by a bulk copy, 128 threads change it, and it goes by another, round by round.

llvm.mlir.global internal @tile() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<2048 x i8>
llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : i64

llvm.func @copy(%from: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                %to: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %rounds: i32)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %bytes = llvm.mlir.constant(2048 : i32) : i32
  %ticks = llvm.mlir.constant(10000000 : i32) : i32
  %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
  %full = llvm.mlir.addressof @full : !llvm.ptr<3>
  %cluster = llvm.addrspacecast %tile : !llvm.ptr<3> to !llvm.ptr<7>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %leader = llvm.icmp "eq" %thread, %c0 : i32
  llvm.cond_br %leader, ^init, ^ready
^init:
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  llvm.br ^ready
^ready:
  nvvm.barrier0
  %index = llvm.mul %thread, %c4 : i32
  %mine = llvm.getelementptr %tile[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  llvm.br ^round(%c0 : i32)
^round(%round: i32):
  %parity = llvm.and %round, %c1 : i32
  llvm.cond_br %leader, ^load, ^wait
^load:
  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
  nvvm.cp.async.bulk.tensor.shared.cluster.global %cluster, %from, %full, box[%c0, %round] : !llvm.ptr<7>, !llvm.ptr
  llvm.br ^wait
^wait:
  nvvm.mbarrier.try_wait.parity %full, %parity, %ticks : !llvm.ptr<3>, i32, i32
  %value = llvm.load %mine : !llvm.ptr<3> -> f32
  %sum = llvm.fadd %value, %value : f32
  llvm.store %sum, %mine : f32, !llvm.ptr<3>
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.barrier0
  llvm.cond_br %leader, ^store, ^next
^store:
  nvvm.cp.async.bulk.tensor.global.shared.cta %to, %tile, box[%c0, %round] : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  llvm.br ^next
^next:
  nvvm.barrier0
  %after = llvm.add %round, %c1 : i32
  %more = llvm.icmp "ult" %after, %rounds : i32
  llvm.cond_br %more, ^round(%after : i32), ^end
^end:
  llvm.return
}
