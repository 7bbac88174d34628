// Adds floats in shared memory, block by block.
#include <cuda/atomic>

extern "C" __global__ void float_sum_shared(const float *in, float *sums) {
  __shared__ float sum;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  cuda::atomic_ref<float, cuda::thread_scope_block>(sum).fetch_add(in[i], cuda::memory_order_relaxed);
  __syncthreads();
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
}
