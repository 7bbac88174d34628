// The greatest of 64-bit integers.
#include <cuda/atomic>

extern "C" __global__ void max64(const unsigned long long *in, unsigned long long *max) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*max).fetch_max(in[i], cuda::memory_order_relaxed);
}
