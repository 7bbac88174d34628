// A barrier of all blocks of the grid, of system scope as all of core::sync::atomic.
#include <cuda/atomic>

extern "C" __global__ void rust_grid_barrier(unsigned *arrived, unsigned *generation, unsigned blocks) {
  cuda::atomic_ref<unsigned> count(*arrived), turn(*generation);
  unsigned current = turn.load(cuda::memory_order_relaxed);
  if (count.fetch_add(1, cuda::memory_order_acq_rel) == blocks - 1) {
    count.store(0, cuda::memory_order_relaxed);
    turn.store(current + 1, cuda::memory_order_release);
  } else {
    while (turn.load(cuda::memory_order_acquire) == current) {
    }
  }
}
