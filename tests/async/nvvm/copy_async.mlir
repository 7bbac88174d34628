// TARGET: sm_80 ptx70
// Copies in groups, one round ahead, whose data other threads read.

llvm.mlir.global internal @tiles() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4096 x i8>

llvm.func @copy_async(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %rounds: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c4 = llvm.mlir.constant(4 : i32) : i32
  %c127 = llvm.mlir.constant(127 : i32) : i32
  %c512 = llvm.mlir.constant(512 : i32) : i32
  %tiles = llvm.mlir.addressof @tiles : !llvm.ptr<3>
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %other = llvm.sub %c127, %thread : i32
  %index = llvm.mul %thread, %c4 : i32
  %other_index = llvm.mul %other, %c4 : i32
  %first = llvm.getelementptr %tiles[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %source = llvm.getelementptr %from[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  nvvm.cp.async.shared.global %first, %source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  llvm.br ^round(%c0 : i32)
^round(%round: i32):
  %next = llvm.add %round, %c1 : i32
  %next_slot = llvm.and %next, %c1 : i32
  %next_row = llvm.mul %next_slot, %c512 : i32
  %next_index = llvm.add %next_row, %index : i32
  %ahead = llvm.getelementptr %tiles[%next_index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %next_start = llvm.mul %next, %c512 : i32
  %next_from = llvm.add %next_start, %index : i32
  %next_source = llvm.getelementptr %from[%next_from] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  nvvm.cp.async.shared.global %ahead, %next_source, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 1
  nvvm.barrier0
  %slot = llvm.and %round, %c1 : i32
  %row = llvm.mul %slot, %c512 : i32
  %read_index = llvm.add %row, %other_index : i32
  %read = llvm.getelementptr %tiles[%read_index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
  %value = llvm.load %read : !llvm.ptr<3> -> vector<4xf32>
  %start = llvm.mul %round, %c512 : i32
  %at = llvm.add %start, %index : i32
  %target = llvm.getelementptr %to[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %value, %target : vector<4xf32>, !llvm.ptr<1>
  nvvm.barrier0
  %more = llvm.icmp "ult" %next, %rounds : i32
  llvm.cond_br %more, ^round(%next : i32), ^end
^end:
  nvvm.cp.async.wait.group 0
  llvm.return
}
