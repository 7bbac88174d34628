// The sum of floats, the same in every run: each block writes the sum of its part, and the last block to arrive adds these
// up in their order.
//
//   ptx-atomics lower reduce.mlir --mcpu sm_90
//
// The arrival is the one atomic that orders: its release makes the block's sum visible, and its acquire lets the last
// block see all of them. With the relaxed atomic that MLIR's own way to PTX gives, the last block may add stale sums.

module attributes {gpu.container_module} {
  func.func @reduce(%input: memref<?xf32>, %partial: memref<?xf32>, %arrived: memref<i32>, %sum: memref<f32>,
                    %blocks: index) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %blocks, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
      %c0 = arith.constant 0 : index
      %c1_0 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1 : i32

      %count = memref.dim %input, %c0 : memref<?xf32>
      %start = arith.muli %bx, %sx : index
      %first = arith.addi %start, %tx : index
      %step = arith.muli %gx, %sx : index
      %mine = scf.for %i = %first to %count step %step iter_args(%sum_so_far = %zero) -> f32 {
        %element = memref.load %input[%i] : memref<?xf32>
        %next = arith.addf %sum_so_far, %element : f32
        scf.yield %next : f32
      }
      %block = gpu.all_reduce add %mine uniform {} : (f32) -> (f32)

      %is_first = arith.cmpi eq, %tx, %c0 : index
      scf.if %is_first {
        memref.store %block, %partial[%bx] : memref<?xf32>
        %before = memref.atomic_rmw addi %one, %arrived[] {ptx.ordering = "acq_rel", ptx.scope = "gpu"}
          : (i32, memref<i32>) -> i32
        %arrivals = arith.index_cast %gx : index to i32
        %others = arith.subi %arrivals, %one : i32
        %is_last = arith.cmpi eq, %before, %others : i32
        scf.if %is_last {
          %total = scf.for %b = %c0 to %gx step %c1_0 iter_args(%sum_so_far = %zero) -> f32 {
            %part = memref.load %partial[%b] : memref<?xf32>
            %next = arith.addf %sum_so_far, %part : f32
            scf.yield %next : f32
          }
          memref.store %total, %sum[] : memref<f32>
        }
      }
      gpu.terminator
    }
    return
  }
}

// run: grid=4 block=256 input=f32[2000]=iota input 0 2000 1 partial=f32[4] partial 0 4 1 arrived=u32[1] arrived 0 sum=f32[1] sum 0 expect sum == 1999000 && arrived == 4
