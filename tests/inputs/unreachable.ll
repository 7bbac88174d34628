; Code that is never reached may compute a pointer from itself.
target triple = "nvptx64-nvidia-cuda"

define i32 @reached(ptr addrspace(1) %p) {
entry:
  %v = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  ret i32 %v
never:
  %q = getelementptr i8, ptr addrspace(1) %q, i64 4
  %old = atomicrmw add ptr addrspace(1) %q, i32 1 seq_cst
  br label %never
}
