// RUN:
llvm.func @f(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic strongly {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
