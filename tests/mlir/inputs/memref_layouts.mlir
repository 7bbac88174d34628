// Addresses: ranks, strides and offsets, views, and what a pointer is known to point to.
gpu.module @kernels {
  gpu.func @rank_0(%m: memref<i32, 1>, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[] : (i32, memref<i32, 1>) -> i32
    gpu.return
  }
  gpu.func @rank_3(%m: memref<4x?x3xi64, 1>, %i: index, %j: index, %k: index, %v: i64) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i, %j, %k] : (i64, memref<4x?x3xi64, 1>) -> i64
    gpu.return
  }
  gpu.func @strided(%m: memref<8x8xi32, strided<[20, 2], offset: 5>, 1>, %i: index, %j: index, %v: i32) kernel {
    %0 = memref.atomic_rmw maxs %v, %m[%i, %j] : (i32, memref<8x8xi32, strided<[20, 2], offset: 5>, 1>) -> i32
    gpu.return
  }
  gpu.func @dynamic(%m: memref<?xf32, strided<[?], offset: ?>, 3>, %i: index, %v: f32) kernel {
    %0 = memref.atomic_rmw addf %v, %m[%i] : (f32, memref<?xf32, strided<[?], offset: ?>, 3>) -> f32
    gpu.return
  }
  gpu.func @transposed(%m: memref<8x8xi32, affine_map<(d0, d1) -> (d1 * 8 + d0)>>, %i: index, %j: index, %v: i32) kernel {
    %0 = memref.atomic_rmw addi %v, %m[%i, %j] : (i32, memref<8x8xi32, affine_map<(d0, d1) -> (d1 * 8 + d0)>>) -> i32
    gpu.return
  }
  gpu.func @subview(%m: memref<16x16xi32>, %i: index, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %view = memref.subview %m[%i, 4] [8, 8] [1, 1]
      : memref<16x16xi32> to memref<8x8xi32, strided<[16, 1], offset: ?>>
    %0 = memref.atomic_rmw addi %v, %view[%c0, %i] : (i32, memref<8x8xi32, strided<[16, 1], offset: ?>>) -> i32
    gpu.return
  }
  gpu.func @workgroup_and_private(%i: index, %v: i32, %c: i1)
      workgroup(%shared: memref<32xi32, #gpu.address_space<workgroup>>)
      private(%local: memref<32xi32, #gpu.address_space<private>>) kernel {
    %0 = memref.atomic_rmw addi %v, %shared[%i] : (i32, memref<32xi32, #gpu.address_space<workgroup>>) -> i32
    %1 = memref.atomic_rmw addi %v, %local[%i] : (i32, memref<32xi32, #gpu.address_space<private>>) -> i32
    gpu.return
  }
  memref.global @counter : memref<i32, 1> = dense<0>
  gpu.func @global(%v: i32) kernel {
    %m = memref.get_global @counter : memref<i32, 1>
    %0 = memref.atomic_rmw ori %v, %m[] : (i32, memref<i32, 1>) -> i32
    gpu.return
  }
  gpu.func @selected(%a: memref<?xi32>, %b: memref<?xi32>, %c: i1, %i: index, %v: i32) kernel {
    %m = arith.select %c, %a, %b : memref<?xi32>
    %0 = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<?xi32>) -> i32
    gpu.return
  }
}
