// RUN: -o folder/
module attributes {gpu.container_module} {
  gpu.module @unknown [#nvvm.target<chip = "sm_9000">] {
    llvm.func @f() {
      llvm.return
    }
  }
  gpu.module @two [#nvvm.target<chip = "sm_70">, #nvvm.target<chip = "sm_90">] {
    llvm.func @f() {
      llvm.return
    }
  }
  gpu.module @version [#nvvm.target<chip = "sm_90", features = "+ptx99">] {
    llvm.func @f() {
      llvm.return
    }
  }
}
