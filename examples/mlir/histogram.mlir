// Counts bytes: each block in shared memory first, then into the bins of all.
//
//   ptx-atomics lower histogram.mlir --mcpu sm_90
//
// memref.atomic_rmw has no ordering and no scope; without the attributes it would be acq_rel for the whole system. Here
// nothing but the counts matters, and the barriers order the rest.

module attributes {gpu.container_module} {
  func.func @histogram(%bytes: memref<?xi8>, %bins: memref<256xi32>, %blocks: index) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %blocks, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1)
               workgroup(%counts: memref<256xi32, #gpu.address_space<workgroup>>) {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      memref.store %zero, %counts[%tx] : memref<256xi32, #gpu.address_space<workgroup>>
      gpu.barrier

      %count = memref.dim %bytes, %c0 : memref<?xi8>
      %start = arith.muli %bx, %sx : index
      %first = arith.addi %start, %tx : index
      %step = arith.muli %gx, %sx : index
      scf.for %i = %first to %count step %step {
        %byte = memref.load %bytes[%i] : memref<?xi8>
        %bin = arith.index_castui %byte : i8 to index
        %0 = memref.atomic_rmw addi %one, %counts[%bin] {ptx.ordering = "relaxed", ptx.scope = "cta"}
          : (i32, memref<256xi32, #gpu.address_space<workgroup>>) -> i32
      }
      gpu.barrier

      %mine = memref.load %counts[%tx] : memref<256xi32, #gpu.address_space<workgroup>>
      %1 = memref.atomic_rmw addi %mine, %bins[%tx] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
        : (i32, memref<256xi32>) -> i32
      gpu.terminator
    }
    return
  }
}

// A memref is five parameters: two pointers, an offset, sizes, and strides.
// litmus: u8 bytes[512]
// litmus: u32 bins[256]
// litmus: bind histogram_kernel.0 = bytes, histogram_kernel.1 = bytes, histogram_kernel.2 = 0, histogram_kernel.3 = 512
// litmus: bind histogram_kernel.4 = 1, histogram_kernel.5 = bins, histogram_kernel.6 = bins, histogram_kernel.7 = 0
// litmus: bind histogram_kernel.8 = 256, histogram_kernel.9 = 1
// litmus: test histogram_one_block
// litmus: thread P0 = histogram_kernel @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram_kernel @ cta 0, %ntid.x = 256
// litmus: forall bins[0] == 4
// litmus: test histogram_two_blocks
// litmus: thread P0 = histogram_kernel @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram_kernel @ cta 0, %ntid.x = 256
// litmus: thread P2 = histogram_kernel @ cta 1, %ntid.x = 256
// litmus: forall bins[0] == 3
// run: grid=2 block=256 bytes=u8[1024]=iota bytes 0 1024 1 bins=u32[256] bins 0 256 1 expect bins == 4
// run: grid=3 block=256 bytes=u8[2000]=random(0,255) bytes 0 2000 1 bins=u32[256] bins 0 256 1
