// RUN:
llvm.func @f(%p: !llvm.ptr<1>, %v: i32) attributes {passthrough = [["ptx-atomics-strategy", "strongest"]]} {
  %0 = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr<1>, i32
  llvm.return
}
