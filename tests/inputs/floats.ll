; Half floats and vectors: native where the target has the addition, loops elsewhere.
target triple = "nvptx64-nvidia-cuda"

define float @add_global(ptr addrspace(1) %p, float %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, float %v syncscope("device") monotonic
  ret float %r
}

define double @add_double(ptr addrspace(1) %p, double %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, double %v syncscope("device") acq_rel
  ret double %r
}

define double @add_double_shared(ptr addrspace(3) %p, double %v) {
  %r = atomicrmw fadd ptr addrspace(3) %p, double %v syncscope("device") acq_rel
  ret double %r
}

define half @add_half(ptr addrspace(1) %p, half %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, half %v syncscope("device") release
  ret half %r
}

define bfloat @add_bfloat(ptr addrspace(1) %p, bfloat %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, bfloat %v syncscope("device") monotonic
  ret bfloat %r
}

define half @max_half(ptr addrspace(3) %p, half %v) {
  %r = atomicrmw fmax ptr addrspace(3) %p, half %v syncscope("block") monotonic
  ret half %r
}

define <2 x half> @add_pair(ptr addrspace(1) %p, <2 x half> %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, <2 x half> %v syncscope("device") monotonic
  ret <2 x half> %r
}

define <2 x bfloat> @subtract_pair(ptr addrspace(1) %p, <2 x bfloat> %v) {
  %r = atomicrmw fsub ptr addrspace(1) %p, <2 x bfloat> %v syncscope("device") acquire
  ret <2 x bfloat> %r
}

define <2 x float> @add_floats(ptr addrspace(1) %p, <2 x float> %v) {
  %r = atomicrmw fadd ptr addrspace(1) %p, <2 x float> %v syncscope("device") monotonic
  ret <2 x float> %r
}

define <2 x half> @load_pair(ptr addrspace(1) %p) {
  %r = load atomic <2 x half>, ptr addrspace(1) %p syncscope("device") acquire, align 4
  ret <2 x half> %r
}

define half @exchange(ptr addrspace(1) %p, half %v) {
  %r = atomicrmw xchg ptr addrspace(1) %p, half %v syncscope("device") monotonic
  ret half %r
}
