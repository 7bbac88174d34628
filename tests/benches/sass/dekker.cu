// One side of Dekker's entry: no two enter, which only sequential consistency gives.
#include <cuda/atomic>

extern "C" __global__ void dekker(unsigned *mine, unsigned *theirs, int *data) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*mine).store(1, cuda::memory_order_seq_cst);
  if (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*theirs).load(cuda::memory_order_seq_cst) == 0)
    *data += 1;
}
