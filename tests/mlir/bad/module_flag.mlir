// RUN:
module {
  llvm.module_flags [#llvm.mlir.module_flag<override, "ptx-atomics", "strategy=fence,colour=red">]
  llvm.func @f(%p: !llvm.ptr<1>, %v: i32) {
    %0 = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr<1>, i32
    llvm.return
  }
}
