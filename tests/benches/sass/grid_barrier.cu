// A barrier of all blocks of the grid: the last one to come starts the next generation.
#include <cuda/atomic>

extern "C" __global__ void grid_barrier(unsigned *barrier) {
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(barrier[0]), generation(barrier[1]);
    unsigned current = generation.load(cuda::memory_order_relaxed);
    if (arrived.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) {
      arrived.store(0, cuda::memory_order_relaxed);
      generation.store(current + 1, cuda::memory_order_release);
    } else {
      while (generation.load(cuda::memory_order_acquire) == current) {
      }
    }
  }
  __syncthreads();
}
