; RUN:
; Every way to misuse the markers of scoped atomics.
target triple = "nvptx64-nvidia-cuda"
declare void @ptx_atomics$barrier$relaxed()
declare i32 @ptx_atomics$atomicrmw$mul$i32$relaxed$device(ptr, i32)
declare i24 @ptx_atomics$load$i24$relaxed(ptr)
declare i32 @ptx_atomics$load$i32$monotonic$device(ptr)
declare i32 @ptx_atomics$load$i32$relaxed$warp(ptr)
declare i32 @ptx_atomics$load$i32$relaxed$block$device(ptr)
declare i32 @ptx_atomics$load$i32(ptr)
declare i32 @ptx_atomics$load$i32$release$block(ptr)
declare void @ptx_atomics$store$i32$acq_rel$block(ptr, i32)
declare void @ptx_atomics$fence$relaxed$block()
declare i32 @ptx_atomics$cmpxchg$i32$acq_rel$release$block(ptr, i32, i32)
declare i32 @ptx_atomics$cmpxchg$i32$relaxed$unordered$block(ptr, i32, i32)
declare i32 @ptx_atomics$atomicrmw$fadd$i32$relaxed(ptr, i32)
declare ptr @ptx_atomics$atomicrmw$add$ptr$relaxed(ptr, ptr)
declare i64 @ptx_atomics$load$i32$relaxed$block(ptr)
declare i32 @ptx_atomics$load$i32$acquire$block(ptr, ...)
declare i32 @ptx_atomics$atomicrmw$add$i32$relaxed$block(ptr, i32)
declare void @ptx_atomics$fence$acquire$block()
declare ptr @ptx_atomics$atomicrmw$xchg$ptr$relaxed$block(ptr, ptr)
define void @ptx_atomics$fence$release$block() {
  ret void
}
@table = global [1 x ptr] [ptr @ptx_atomics$fence$acquire$block]
define void @names(ptr %p) {
  call void @ptx_atomics$barrier$relaxed()
  call i32 @ptx_atomics$atomicrmw$mul$i32$relaxed$device(ptr %p, i32 1)
  call i24 @ptx_atomics$load$i24$relaxed(ptr %p)
  call i32 @ptx_atomics$load$i32$monotonic$device(ptr %p)
  call i32 @ptx_atomics$load$i32$relaxed$warp(ptr %p)
  call i32 @ptx_atomics$load$i32$relaxed$block$device(ptr %p)
  call i32 @ptx_atomics$load$i32(ptr %p)
  ret void
}
define void @orderings(ptr %p) {
  call i32 @ptx_atomics$load$i32$release$block(ptr %p)
  call void @ptx_atomics$store$i32$acq_rel$block(ptr %p, i32 1)
  call void @ptx_atomics$fence$relaxed$block()
  call i32 @ptx_atomics$cmpxchg$i32$acq_rel$release$block(ptr %p, i32 0, i32 1)
  call i32 @ptx_atomics$cmpxchg$i32$relaxed$unordered$block(ptr %p, i32 0, i32 1)
  call i32 @ptx_atomics$atomicrmw$fadd$i32$relaxed(ptr %p, i32 1)
  call ptr @ptx_atomics$atomicrmw$add$ptr$relaxed(ptr %p, ptr %p)
  ret void
}
define void @types(ptr %p, ptr addrspace(1) %q) {
  call i64 @ptx_atomics$load$i32$relaxed$block(ptr %p)
  call i32 (ptr, ...) @ptx_atomics$load$i32$acquire$block(ptr %p, i32 1)
  call i32 @ptx_atomics$atomicrmw$add$i32$relaxed$block(ptr addrspace(1) %q, i32 1)
  ret void
}
define void @uses(ptr %p) personality ptr null {
  store ptr @ptx_atomics$atomicrmw$add$i32$relaxed$block, ptr %p
  call ptr @ptx_atomics$atomicrmw$xchg$ptr$relaxed$block(ptr %p, ptr @ptx_atomics$atomicrmw$xchg$ptr$relaxed$block)
  invoke void @ptx_atomics$fence$acquire$block() to label %done unwind label %pad
pad:
  %l = landingpad { ptr, i32 } cleanup
  ret void
done:
  call void @ptx_atomics$fence$release$block()
  ret void
}
