; 8 and 16 bits: native loads and stores, one atom on the word for and, or, xor, and loops for the rest.
target triple = "nvptx64-nvidia-cuda"

define i8 @load(ptr addrspace(1) %p) {
  %r = load atomic i8, ptr addrspace(1) %p syncscope("device") acquire, align 1
  ret i8 %r
}

define void @store(ptr addrspace(3) %p, i16 %v) {
  store atomic i16 %v, ptr addrspace(3) %p syncscope("block") release, align 2
  ret void
}

define i8 @or(ptr addrspace(1) %p, i8 %v) {
  %r = atomicrmw or ptr addrspace(1) %p, i8 %v syncscope("device") acq_rel
  ret i8 %r
}

define void @set_bit(ptr addrspace(3) %p) {
  %r = atomicrmw or ptr addrspace(3) %p, i8 16 syncscope("block") monotonic
  ret void
}

define i16 @and(ptr addrspace(1) %p, i16 %v) {
  %r = atomicrmw and ptr addrspace(1) %p, i16 %v syncscope("device") seq_cst
  ret i16 %r
}

define i16 @max(ptr addrspace(1) %p, i16 %v) {
  %r = atomicrmw max ptr addrspace(1) %p, i16 %v syncscope("device") acq_rel
  ret i16 %r
}

define i8 @min_constant(ptr addrspace(1) %p) {
  %r = atomicrmw min ptr addrspace(1) %p, i8 -3 syncscope("device") monotonic
  ret i8 %r
}

define i8 @wrap(ptr addrspace(3) %p, i8 %v) {
  %r = atomicrmw uinc_wrap ptr addrspace(3) %p, i8 %v syncscope("block") monotonic
  ret i8 %r
}

define i16 @exchange(ptr %p, i16 %v) {
  %r = atomicrmw xchg ptr %p, i16 %v syncscope("device") acquire
  ret i16 %r
}

define i1 @compare_exchange(ptr addrspace(1) %p, i8 %expected, i8 %new) {
  %pair = cmpxchg ptr addrspace(1) %p, i8 %expected, i8 %new syncscope("device") acq_rel acquire
  %ok = extractvalue { i8, i1 } %pair, 1
  ret i1 %ok
}
