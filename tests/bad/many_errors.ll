; RUN: --mcpu sm_80
; Every error of the module is reported, each at its line.
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) constant i32 7

define void @first(ptr %p, ptr addrspace(1) %g) {
  %a = atomicrmw add ptr %p, i32 1 syncscope("agent") acq_rel
  %b = load atomic i256, ptr addrspace(1) %g seq_cst, align 32
  fence syncscope("workgroup") release
  ret void
}
define void @second(ptr addrspace(1) %g) "ptx-atomics-strategy"="magic" {
  store atomic i32 1, ptr addrspace(4) @table release, align 4
  %w = load atomic i64, ptr addrspace(1) %g monotonic, align 4
  %z = atomicrmw add ptr addrspace(1) %g, i128 1 monotonic
  %y = load atomic i32, ptr addrspace(7) null seq_cst, align 4
  ret void
}
