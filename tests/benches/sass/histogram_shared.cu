// A histogram of bytes: one in shared memory for each block, added to one in global memory.
#include <cuda/atomic>

extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins) {
  __shared__ unsigned local[256];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  local[threadIdx.x] = 0;
  __syncthreads();
  cuda::atomic_ref<unsigned, cuda::thread_scope_block>(local[in[i]]).fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(bins[threadIdx.x]).fetch_add(local[threadIdx.x], cuda::memory_order_relaxed);
}
