// TARGET: sm_90a ptx80
// Four warps store both operands to shared memory and multiply them, round by round.

llvm.mlir.global internal @left() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<2048 x i8>
llvm.mlir.global internal @right() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<256 x i8>

llvm.func @wgmma(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %out: !llvm.ptr<1>, %rounds: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c2048 = llvm.mlir.constant(2048 : i32) : i32
  %layout = llvm.mlir.constant(4611756662049538048 : i64) : i64
  %left = llvm.mlir.addressof @left : !llvm.ptr<3>
  %right = llvm.mlir.addressof @right : !llvm.ptr<3>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %byte = llvm.mul %thread, %c16 : i32
  %mine = llvm.getelementptr %left[%byte] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %right_mine = llvm.getelementptr %right[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i16
  %at_left = llvm.ptrtoint %left : !llvm.ptr<3> to i32
  %left_units = llvm.lshr %at_left, %c4 : i32
  %left_wide = llvm.zext %left_units : i32 to i64
  %x = llvm.or %left_wide, %layout : i64
  %at_right = llvm.ptrtoint %right : !llvm.ptr<3> to i32
  %right_units = llvm.lshr %at_right, %c4 : i32
  %right_wide = llvm.zext %right_units : i32 to i64
  %y = llvm.or %right_wide, %layout : i64
  %undef = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  %s0 = llvm.insertvalue %zero, %undef[0] : !llvm.struct<(f32, f32, f32, f32)>
  %s1 = llvm.insertvalue %zero, %s0[1] : !llvm.struct<(f32, f32, f32, f32)>
  %s2 = llvm.insertvalue %zero, %s1[2] : !llvm.struct<(f32, f32, f32, f32)>
  %start = llvm.insertvalue %zero, %s2[3] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.br ^round(%c0, %start : i32, !llvm.struct<(f32, f32, f32, f32)>)
^round(%round: i32, %sum: !llvm.struct<(f32, f32, f32, f32)>):
  %row = llvm.mul %round, %c2048 : i32
  %offset = llvm.add %row, %byte : i32
  %from = llvm.getelementptr %a[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %value = llvm.load %from : !llvm.ptr<1> -> vector<4xi32>
  llvm.store %value, %mine : vector<4xi32>, !llvm.ptr<3>
  %right_from = llvm.getelementptr %b[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  %right_value = llvm.load %right_from : !llvm.ptr<1> -> i16
  llvm.store %right_value, %right_mine : i16, !llvm.ptr<3>
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.barrier0
  nvvm.wgmma.fence.aligned
  %next_sum = nvvm.wgmma.mma_async %x, %y, %sum, <m = 64, n = 8, k = 16>, D [<f32>, <one>], A [<f16>, <one>, <row>], B [<f16>, <one>, <col>]
    : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  nvvm.barrier0
  %next = llvm.add %round, %c1 : i32
  %more = llvm.icmp "ult" %next, %rounds : i32
  llvm.cond_br %more, ^round(%next, %next_sum : i32, !llvm.struct<(f32, f32, f32, f32)>), ^end
^end:
  %r0 = llvm.extractvalue %next_sum[0] : !llvm.struct<(f32, f32, f32, f32)>
  %index = llvm.mul %thread, %c4 : i32
  %target = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %r0, %target : f32, !llvm.ptr<1>
  llvm.return
}
