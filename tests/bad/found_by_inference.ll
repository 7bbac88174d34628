; RUN:
; Only inference shows that the slot holds a pointer to constant memory. The error still has its line.
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) constant [4 x i32] zeroinitializer
define i32 @f() {
  %slot = alloca ptr
  store ptr addrspacecast (ptr addrspace(4) @table to ptr), ptr %slot
  %p = load ptr, ptr %slot
  %v = atomicrmw add ptr %p, i32 1 acquire
  ret i32 %v
}
