func.func @sort(%x: tensor<16x1024xi32>) -> tensor<16x1024xi32> {
  %y = iree_linalg_ext.sort dimension(1) outs(%x : tensor<16x1024xi32>) {
    ^bb0(%a: i32, %b: i32):
      %less = arith.cmpi slt, %a, %b : i32
      iree_linalg_ext.yield %less : i1
  } -> tensor<16x1024xi32>
  return %y : tensor<16x1024xi32>
}
