// How often each byte occurs. Every block counts in shared memory, then adds to the sum of all blocks.
#include "block.h"

enum { BINS = 256 };

extern "C" __global__ void histogram(const uint8_t *bytes, uint32_t count, atomic_u32 *bins) {
  __shared__ uint32_t local_bins[BINS];

  for (uint32_t bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    local_bins[bin] = 0;
  __syncthreads();

  for (uint32_t index = blockIdx.x * blockDim.x + threadIdx.x; index < count; index += gridDim.x * blockDim.x)
    cuda::atomic_ref<uint32_t, cuda::thread_scope_block>(local_bins[bytes[index]]).fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();

  for (uint32_t bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    bins[bin].fetch_add(local_bins[bin], cuda::memory_order_relaxed);
}
