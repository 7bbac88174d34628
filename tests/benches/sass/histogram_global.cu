// A histogram of bytes in global memory.
#include <cuda/atomic>

extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(bins[in[i]]).fetch_add(1, cuda::memory_order_relaxed);
}
