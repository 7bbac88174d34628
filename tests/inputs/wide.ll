; GPUS: sm_90 sm_100
; 128 bits, from sm_90 on.
target triple = "nvptx64-nvidia-cuda"

define i128 @load(ptr addrspace(1) %p) {
  %r = load atomic i128, ptr addrspace(1) %p seq_cst, align 16
  ret i128 %r
}

define void @store(ptr addrspace(1) %p, <2 x ptr> %v) {
  store atomic <2 x ptr> %v, ptr addrspace(1) %p release, align 16
  ret void
}

define i128 @exchange(ptr addrspace(1) %p, i128 %v) {
  %r = atomicrmw xchg ptr addrspace(1) %p, i128 %v acq_rel
  ret i128 %r
}

define i128 @add(ptr addrspace(3) %p, i128 %v) {
  %r = atomicrmw add ptr addrspace(3) %p, i128 %v syncscope("block") seq_cst
  ret i128 %r
}

define i128 @max(ptr addrspace(1) %p, i128 %v) {
  %r = atomicrmw max ptr addrspace(1) %p, i128 %v monotonic
  ret i128 %r
}

define <4 x float> @add_floats(ptr addrspace(1) %p, <4 x float> %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, <4 x float> %v acq_rel
  ret <4 x float> %r
}

define <8 x half> @max_halves(ptr addrspace(1) %p, <8 x half> %v) {
  %r = atomicrmw fmax ptr addrspace(1) %p, <8 x half> %v monotonic
  ret <8 x half> %r
}

define i1 @compare_exchange(ptr addrspace(1) %p, i128 %expected, i128 %new) {
  %pair = cmpxchg ptr addrspace(1) %p, i128 %expected, i128 %new acq_rel acquire
  %ok = extractvalue { i128, i1 } %pair, 1
  ret i1 %ok
}

; Such names have the registers of LLVM's own instructions of 128 bits.
@dst = addrspace(1) global i128 0, align 16
@swap = addrspace(1) global i128 0, align 16

define i128 @named(i128 %v) {
  %r = atomicrmw xchg ptr addrspace(1) @dst, i128 %v acq_rel
  %pair = cmpxchg ptr addrspace(1) @swap, i128 %r, i128 %v acq_rel acquire
  %old = extractvalue { i128, i1 } %pair, 0
  ret i128 %old
}
