// What is left after bufferization: linalg on memrefs in a kernel, vectors, math, and an atomic sum.
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @norm(%tiles: memref<?x16xf32>, %sums: memref<?xf32, 1>) kernel {
    %tile = gpu.block_id x
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %row = memref.subview %tiles[%tile, 0] [1, 16] [1, 1]
      : memref<?x16xf32> to memref<16xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        outs(%row : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%element: f32):
      %square = arith.mulf %element, %element : f32
      %root = math.sqrt %square : f32
      linalg.yield %root : f32
    }
    %vector = vector.transfer_read %row[%c0], %zero {in_bounds = [true]}
      : memref<16xf32, strided<[1], offset: ?>>, vector<16xf32>
    %sum = vector.reduction <add>, %vector : vector<16xf32> into f32
    %old = memref.atomic_rmw addf %sum, %sums[%tile] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
      : (f32, memref<?xf32, 1>) -> f32
    gpu.return
  }
}
