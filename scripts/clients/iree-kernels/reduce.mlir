func.func @reduce(%x: tensor<128x8192xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
  %y = linalg.reduce { arith.addf } ins(%x : tensor<128x8192xf32>) outs(%init : tensor<128xf32>) dimensions = [1]
  return %y : tensor<128xf32>
}
