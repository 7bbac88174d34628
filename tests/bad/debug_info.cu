// The source that the debug information of debug_info.ll names.
__device__ int kernel(Packed *p) {
  return p->flag.load();
}
