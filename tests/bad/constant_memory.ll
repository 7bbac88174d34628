; RUN:
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) constant [4 x i32] zeroinitializer
define void @f() {
  store atomic i32 1, ptr addrspace(4) @table release, align 4
  ret void
}
define i32 @through_a_generic_pointer() {
  %v = atomicrmw add ptr addrspacecast (ptr addrspace(4) @table to ptr), i32 1 acquire
  ret i32 %v
}
