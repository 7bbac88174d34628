; Strategies by function attribute, which overrides that of the run.
target triple = "nvptx64-nvidia-cuda"

define void @run(ptr addrspace(1) %p) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  %b = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst
  ret void
}
define void @fence(ptr addrspace(1) %p) "ptx-atomics-strategy"="fence" {
  %a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  %b = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst
  ret void
}
define void @one_row(ptr addrspace(1) %p) "ptx-atomics-strategy"="rmw.seq_cst=proven" {
  %a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel
  %b = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst
  ret void
}
