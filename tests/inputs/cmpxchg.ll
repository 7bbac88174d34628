; Compare and exchange: orderings, weak, types, and the uses of its pair.
target triple = "nvptx64-nvidia-cuda"

define i1 @success(ptr addrspace(1) %p, i32 %v) {
  %pair = cmpxchg ptr addrspace(1) %p, i32 0, i32 %v acquire monotonic
  %success = extractvalue { i32, i1 } %pair, 1
  ret i1 %success
}
define i64 @old_value(ptr addrspace(3) %p, i64 %b, i64 %c) {
  %pair = cmpxchg weak ptr addrspace(3) %p, i64 %b, i64 %c syncscope("block") acq_rel acquire
  %old = extractvalue { i64, i1 } %pair, 0
  ret i64 %old
}
define { i32, i1 } @pair(ptr addrspace(1) %p, i32 %b, i32 %c) {
  %pair = cmpxchg ptr addrspace(1) %p, i32 %b, i32 %c seq_cst seq_cst
  ret { i32, i1 } %pair
}
define void @unread(ptr addrspace(1) %p, i32 %b, i32 %c) {
  %pair = cmpxchg ptr addrspace(1) %p, i32 %b, i32 %c monotonic monotonic
  ret void
}
define i1 @failure_is_stronger(ptr addrspace(1) %p, i32 %b, i32 %c) {
  %pair = cmpxchg ptr addrspace(1) %p, i32 %b, i32 %c release acquire
  %success = extractvalue { i32, i1 } %pair, 1
  ret i1 %success
}
define ptr @pointer(ptr addrspace(1) %p, ptr %b) {
  %pair = cmpxchg ptr addrspace(1) %p, ptr %b, ptr null syncscope("device") release monotonic
  %old = extractvalue { ptr, i1 } %pair, 0
  ret ptr %old
}
define i32 @loop(ptr addrspace(1) %p) {
entry:
  %first = load atomic i32, ptr addrspace(1) %p syncscope("device") monotonic, align 4
  br label %again
again:
  %seen = phi i32 [ %first, %entry ], [ %old, %again ]
  %new = mul i32 %seen, 3
  %pair = cmpxchg ptr addrspace(1) %p, i32 %seen, i32 %new syncscope("device") acq_rel monotonic
  %old = extractvalue { i32, i1 } %pair, 0
  %success = extractvalue { i32, i1 } %pair, 1
  br i1 %success, label %done, label %again
done:
  ret i32 %old
}
