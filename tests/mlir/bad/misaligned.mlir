// RUN:
llvm.func @f(%p: !llvm.ptr<1>, %v: i32, %c: !llvm.ptr<4>) {
  %0 = llvm.atomicrmw add %p, %v monotonic {alignment = 2 : i64} : !llvm.ptr<1>, i32
  llvm.store %v, %p atomic release {alignment = 1 : i64} : i32, !llvm.ptr<1>
  llvm.store %v, %c atomic release {alignment = 4 : i64} : i32, !llvm.ptr<4>
  llvm.return
}
