func.func @scatter(%out: tensor<1024xi32>, %at: tensor<4096x1xi32>, %x: tensor<4096xi32>) -> tensor<1024xi32> {
  %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
    ins(%x, %at : tensor<4096xi32>, tensor<4096x1xi32>) outs(%out : tensor<1024xi32>) {
    ^bb0(%new: i32, %old: i32):
      %sum = arith.addi %new, %old : i32
      iree_linalg_ext.yield %sum : i32
  } -> tensor<1024xi32>
  return %y : tensor<1024xi32>
}
