; Nothing to lower: plain code generation.
target triple = "nvptx64-nvidia-cuda"

define i32 @plain(ptr addrspace(1) %p) {
  %v = load volatile i32, ptr addrspace(1) %p
  %w = call i32 asm "mov.u32 $0, %laneid;", "=r"()
  %sum = add i32 %v, %w
  ret i32 %sum
}
