// A lock of a block in shared memory, with the scope by hand.
#include <cuda/atomic>

__shared__ unsigned lock, data;

extern "C" __global__ void rust_block_lock() {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> held(lock);
  unsigned free = 0;
  while (!held.compare_exchange_weak(free, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed))
    free = 0;
  data += 1;
  held.store(0, cuda::memory_order_release);
}
