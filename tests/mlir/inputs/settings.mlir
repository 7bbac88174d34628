// What an input sets itself: the strategy by a flag of the module, and by an attribute of a function.
module {
  llvm.module_flags [#llvm.mlir.module_flag<override, "ptx-atomics", "strategy=fence">]
  llvm.func @by_the_flag(%p: !llvm.ptr<1>, %v: i32) -> i32 {
    %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
    llvm.return %r : i32
  }
  llvm.func @by_the_attribute(%p: !llvm.ptr<1>, %v: i32) -> i32
      attributes {passthrough = [["ptx-atomics-strategy", "recommended"]]} {
    %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
    llvm.return %r : i32
  }
}
