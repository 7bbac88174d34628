// RUN:
llvm.func @no_alignment(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic acquire : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @releasing_load(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic release {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @failure(%p: !llvm.ptr, %v: i32) {
  %r = llvm.cmpxchg %p, %v, %v acquire release : !llvm.ptr, i32
  llvm.return
}
