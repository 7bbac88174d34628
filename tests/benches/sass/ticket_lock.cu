// A ticket lock around a plain counter.
#include <cuda/atomic>

extern "C" __global__ void ticket_lock(unsigned *lock, int *data) {
  unsigned ticket = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(lock[0]).fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> serving(lock[1]);
  while (serving.load(cuda::memory_order_acquire) != ticket) {
  }
  *data += 1;
  serving.store(ticket + 1, cuda::memory_order_release);
}
