// Counts the elements that are greater than zero.
#include <cuda/atomic>

extern "C" __global__ void counter(const int *in, unsigned *count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 0)
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*count).fetch_add(1, cuda::memory_order_relaxed);
}
