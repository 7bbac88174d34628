; GPUS: sm_90
; Markers of scoped atomics, as `ptx-atomics-scope` calls them, between atomics of LLVM's own.
target triple = "nvptx64-nvidia-cuda"
declare void @ptx_atomics$fence$seq_cst()
declare void @ptx_atomics$fence$release$cluster()
declare i32 @ptx_atomics$load$i32$acquire$device(ptr)
declare zeroext i8 @ptx_atomics$load$i8$relaxed$block(ptr)
declare void @ptx_atomics$store$i16$release$block(ptr, i16 zeroext)
declare ptr @ptx_atomics$load$ptr$acquire$block(ptr)
declare i64 @ptx_atomics$load$i64$relaxed(ptr)
declare void @ptx_atomics$store$i64$seq_cst(ptr, i64)
declare ptr @ptx_atomics$atomicrmw$xchg$ptr$acq_rel$device(ptr, ptr)
declare i64 @ptx_atomics$atomicrmw$umax$i64$release$cluster(ptr, i64)
declare i32 @ptx_atomics$cmpxchg$i32$acq_rel$acquire$device(ptr, i32, i32)
declare i32 @ptx_atomics$never$called()

define void @fences() {
  call void @ptx_atomics$fence$seq_cst()
  fence syncscope("block") acq_rel
  call void @ptx_atomics$fence$release$cluster()
  ret void
}

define i32 @loads_and_stores(ptr addrspace(1) %p, ptr %q, i16 %v) {
  %generic = addrspacecast ptr addrspace(1) %p to ptr
  %a = call i32 @ptx_atomics$load$i32$acquire$device(ptr %generic)
  %b = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
  %c = tail call zeroext i8 @ptx_atomics$load$i8$relaxed$block(ptr %q)
  call void @ptx_atomics$store$i16$release$block(ptr %q, i16 zeroext %v)
  %d = zext i8 %c to i32
  %e = add i32 %a, %b
  %f = add i32 %d, %e
  ret i32 %f
}

define ptr @pointers(ptr %p, ptr %v) {
  %old = musttail call ptr @ptx_atomics$atomicrmw$xchg$ptr$acq_rel$device(ptr %p, ptr %v)
  ret ptr %old
}

define i64 @maximum(ptr %p, i64 %v) {
  %next = call ptr @ptx_atomics$load$ptr$acquire$block(ptr %p)
  %least = call i64 @ptx_atomics$load$i64$relaxed(ptr %p)
  call void @ptx_atomics$store$i64$seq_cst(ptr %p, i64 %least)
  %old = call i64 @ptx_atomics$atomicrmw$umax$i64$release$cluster(ptr %next, i64 %v)
  ret i64 %old
}

define i1 @exchange(ptr %p, i32 %expected, i32 %new) {
  %old = call i32 @ptx_atomics$cmpxchg$i32$acq_rel$acquire$device(ptr %p, i32 %expected, i32 %new)
  %success = icmp eq i32 %old, %expected
  ret i1 %success
}
