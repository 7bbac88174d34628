// RUN: --module third
module attributes {gpu.container_module} {
  gpu.module @first {
    llvm.func @f() {
      llvm.return
    }
  }
  gpu.module @second {
    llvm.func @f() {
      llvm.return
    }
  }
}
