// Sets flags in a byte for each group of elements.
#include <cuda/atomic>

extern "C" __global__ void or8(const unsigned char *in, unsigned char *flags) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(flags[i / 32]).fetch_or(in[i], cuda::memory_order_relaxed);
}
