// TARGET: sm_30 ptx60
// LLVM: 23

llvm.func @sync() attributes {nvvm.kernel} {
  nvvm.barrier {aligned = false}
  llvm.return
}

llvm.func @sync_id(%id: i32, %threads: i32) attributes {nvvm.kernel} {
  nvvm.barrier id = %id number_of_threads = %threads {aligned = false}
  llvm.return
}

llvm.func @arrive(%threads: i32) attributes {nvvm.kernel} {
  nvvm.barrier.arrive number_of_threads = %threads {aligned = false}
  llvm.return
}

llvm.func @reduction(%predicate: i32) attributes {nvvm.kernel} {
  %result = nvvm.barrier.reduction #nvvm.reduction<popc> %predicate -> i32 {aligned = false}
  llvm.return
}
