; Loops that wait, and one that publishes.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @wait(ptr addrspace(1) %flag, ptr addrspace(1) %data, ptr addrspace(1) %out) {
entry:
  br label %again

again:
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  %ready = icmp eq i32 %seen, 1
  br i1 %ready, label %done, label %again

done:
  %value = load i32, ptr addrspace(1) %data
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; Test, and test and set.
define ptx_kernel void @lock(ptr addrspace(1) %lock, ptr addrspace(1) %data) {
entry:
  br label %test

test:
  %held = load atomic i32, ptr addrspace(1) %lock syncscope("device") monotonic, align 4
  %free = icmp eq i32 %held, 0
  br i1 %free, label %try, label %test

try:
  %pair = cmpxchg weak ptr addrspace(1) %lock, i32 0, i32 1 syncscope("device") acquire monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %critical, label %test

critical:
  %old = load i32, ptr addrspace(1) %data
  %new = add i32 %old, 1
  store i32 %new, ptr addrspace(1) %data
  store atomic i32 0, ptr addrspace(1) %lock syncscope("device") release, align 4
  ret void
}

; Rust's `fetch_update(AcqRel, Relaxed, …)`.
define ptx_kernel void @update(ptr addrspace(1) %word, ptr addrspace(1) %data, i32 %value, ptr addrspace(1) %out) {
entry:
  store i32 %value, ptr addrspace(1) %data
  %first = load atomic i32, ptr addrspace(1) %word syncscope("device") monotonic, align 4
  br label %again

again:
  %old = phi i32 [ %first, %entry ], [ %found, %again ]
  %times = mul i32 %old, 3
  %pair = cmpxchg weak ptr addrspace(1) %word, i32 %old, i32 %times syncscope("device") acq_rel monotonic
  %found = extractvalue { i32, i1 } %pair, 0
  %done = extractvalue { i32, i1 } %pair, 1
  br i1 %done, label %end, label %again

end:
  %other = load i32, ptr addrspace(1) %out
  store i32 %other, ptr addrspace(1) %data
  ret void
}

; It stays as it is: the loop also writes a node.
define ptx_kernel void @push(ptr addrspace(1) %head, ptr addrspace(1) %node, i64 %self) {
entry:
  %first = load atomic i64, ptr addrspace(1) %head syncscope("device") monotonic, align 8
  br label %again

again:
  %old = phi i64 [ %first, %entry ], [ %found, %again ]
  store i64 %old, ptr addrspace(1) %node
  %pair = cmpxchg weak ptr addrspace(1) %head, i64 %old, i64 %self syncscope("device") release monotonic
  %found = extractvalue { i64, i1 } %pair, 0
  %done = extractvalue { i64, i1 } %pair, 1
  br i1 %done, label %end, label %again

end:
  ret void
}
