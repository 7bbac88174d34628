; RUN:
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) constant [4 x i32] zeroinitializer
define i32 @f() {
  %v = load atomic i32, ptr addrspace(4) @table acquire, align 4
  ret i32 %v
}
define i32 @through_a_generic_pointer() {
  %v = load atomic i32, ptr addrspacecast (ptr addrspace(4) @table to ptr) acquire, align 4
  ret i32 %v
}
