// RUN: --emit mlir
spirv.module Logical GLSL450 {
  spirv.func @f() "None" {
    spirv.MemoryBarrier <Device>, <Acquire>
    spirv.Return
  }
}
