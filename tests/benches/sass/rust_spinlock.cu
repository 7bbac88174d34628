// Rust's AtomicBool as a lock of plain data, of system scope as all of core::sync::atomic.
#include <cuda/atomic>

extern "C" __global__ void rust_spinlock(bool *lock, unsigned *data) {
  cuda::atomic_ref<bool> held(*lock);
  while (held.exchange(true, cuda::memory_order_acquire)) {
  }
  *data += 1;
  held.store(false, cuda::memory_order_release);
}
