// Thread 0 of the grid publishes a message, also to the host; every other one waits for the flag and reads it.
#include <cuda/atomic>

extern "C" __global__ void message(unsigned *flag, unsigned *data, unsigned *out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned, cuda::thread_scope_system> ready(*flag);
  if (i == 0) {
    *data = 42;
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    out[i] = *data;
  }
}
