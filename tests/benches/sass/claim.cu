// Claims an object for its owner, or says who owns it.
#include <cuda/atomic>

extern "C" __global__ void claim(unsigned *owner, int *object, unsigned *out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  unsigned expected = 0;
  if (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*owner).compare_exchange_strong(expected, i, cuda::memory_order_acq_rel, cuda::memory_order_acquire))
    *object += 1;
  else
    out[i] = expected;
}
