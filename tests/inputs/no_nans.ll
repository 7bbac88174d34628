; GPUS: sm_35 sm_60 sm_80 sm_90
; Minima and maxima of floats in functions without NaNs.
target triple = "nvptx64-nvidia-cuda"
define float @max(ptr addrspace(1) %p, float %v) "no-nans-fp-math"="true" {
  %r = atomicrmw fmax ptr addrspace(1) %p, float %v syncscope("device") acq_rel
  ret float %r
}
define double @minimum(ptr addrspace(3) %p, double %v) "no-nans-fp-math"="true" {
  %r = atomicrmw fminimum ptr addrspace(3) %p, double %v syncscope("device") seq_cst
  ret double %r
}
define void @unread(ptr addrspace(1) %p, float %v) "no-nans-fp-math"="true" {
  %r = atomicrmw fmin ptr addrspace(1) %p, float %v syncscope("device") release
  ret void
}
define void @constants(ptr %p) "no-nans-fp-math"="true" {
  %r = atomicrmw fmax ptr %p, float 1.0 syncscope("device") acquire
  %s = atomicrmw fmax ptr %p, float -1.0 syncscope("device") monotonic
  ret void
}
define float @with_nans(ptr addrspace(1) %p, float %v) "no-nans-fp-math"="false" {
  %r = atomicrmw fmax ptr addrspace(1) %p, float %v syncscope("device") monotonic
  ret float %r
}
define half @narrow(ptr addrspace(1) %p, half %v) "no-nans-fp-math"="true" {
  %r = atomicrmw fmax ptr addrspace(1) %p, half %v syncscope("device") monotonic
  ret half %r
}
