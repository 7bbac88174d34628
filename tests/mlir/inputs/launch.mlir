// gpu.launch and scf.parallel: what they hold is device code, and the atomic of the host is not.
module attributes {gpu.container_module} {
  func.func @counted(%bins: memref<64xi32>, %values: memref<?xi32>, %n: index, %host: memref<i32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %one = arith.constant 1 : i32
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
      %value = memref.load %values[%tx] : memref<?xi32>
      %mask = arith.constant 63 : i32
      %bin = arith.andi %value, %mask : i32
      %i = arith.index_castui %bin : i32 to index
      %old = memref.atomic_rmw addi %one, %bins[%i] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
        : (i32, memref<64xi32>) -> i32
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
      %value = memref.load %values[%bx] : memref<?xi32>
      %old = memref.atomic_rmw maxs %value, %bins[%tx] {ptx.ordering = "relaxed", ptx.scope = "gpu"}
        : (i32, memref<64xi32>) -> i32
      gpu.terminator
    }
    %was = memref.atomic_rmw addi %one, %host[] : (i32, memref<i32>) -> i32
    return
  }
}
