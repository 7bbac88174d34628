// RUN: -o folder/
module attributes {gpu.container_module} {
  gpu.module @first [#nvvm.target<chip = "sm_60">] {
    llvm.func @f() {
      nvvm.cluster.arrive
      llvm.return
    }
  }
  gpu.module @fine [#nvvm.target<chip = "sm_90">] {
    llvm.func @f() {
      nvvm.cluster.arrive
      llvm.return
    }
  }
  gpu.module @last [#nvvm.target<chip = "sm_70">] {
    llvm.func @f() {
      nvvm.cluster.arrive
      llvm.return
    }
  }
}
