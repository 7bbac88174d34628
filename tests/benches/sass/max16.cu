// The greatest of 16-bit integers.
#include <cuda/atomic>

extern "C" __global__ void max16(const short *in, short *max) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<short, cuda::thread_scope_device>(*max).fetch_max(in[i], cuda::memory_order_relaxed);
}
