// Drops a reference; the last one reads what the others wrote.
#include <cuda/atomic>

extern "C" __global__ void refcount(unsigned *count, const int *object, int *freed) {
  if (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*count).fetch_sub(1, cuda::memory_order_release) == 1) {
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    *freed = *object;
  }
}
