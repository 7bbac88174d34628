// A test-and-set lock around a plain counter.
#include <cuda/atomic>

extern "C" __global__ void spinlock(unsigned *lock, int *data) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> held(*lock);
  while (held.exchange(1, cuda::memory_order_acquire) != 0) {
  }
  *data += 1;
  held.store(0, cuda::memory_order_release);
}
