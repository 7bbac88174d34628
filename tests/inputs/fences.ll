; Fences of each ordering and scope.
target triple = "nvptx64-nvidia-cuda"

define void @orderings() {
  fence acquire
  fence release
  fence acq_rel
  fence seq_cst
  ret void
}
define void @scopes() {
  fence syncscope("block") release
  fence syncscope("cluster") release
  fence syncscope("device") release
  fence syncscope("singlethread") release
  ret void
}
define i32 @around_plain_accesses(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias %q) {
  store i32 1, ptr addrspace(1) %p
  fence syncscope("device") release
  store i32 2, ptr addrspace(1) %p
  fence syncscope("device") acquire
  %v = load i32, ptr addrspace(1) %q
  ret i32 %v
}
