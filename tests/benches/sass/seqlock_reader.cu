// Reads two words that a writer guards by a sequence number.
#include <cuda/atomic>

extern "C" __global__ void seqlock_reader(unsigned *sequence, unsigned *data, unsigned *out) {
  unsigned before, after, first, second;
  do {
    before = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*sequence).load(cuda::memory_order_acquire);
    first = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(data[0]).load(cuda::memory_order_relaxed);
    second = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(data[1]).load(cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    after = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*sequence).load(cuda::memory_order_relaxed);
  } while (before != after || before % 2 != 0);
  out[threadIdx.x] = first + second;
}
