// How often each byte occurs. Every block counts in shared memory, then adds to the sum of all blocks.
#include <cstdint>

enum { BINS = 256 };

extern "C" __global__ void histogram(const uint8_t *bytes, uint32_t count, uint32_t *bins) {
  __shared__ uint32_t local_bins[BINS];

  for (uint32_t bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    local_bins[bin] = 0;
  __syncthreads();

  for (uint32_t index = blockIdx.x * blockDim.x + threadIdx.x; index < count; index += gridDim.x * blockDim.x)
    atomicAdd(&local_bins[bytes[index]], 1);
  __syncthreads();

  for (uint32_t bin = threadIdx.x; bin < BINS; bin += blockDim.x)
    atomicAdd(&bins[bin], local_bins[bin]);
}

// litmus: u8 bytes[512]
// litmus: u32 bins[256]
// litmus: test histogram_one_block
// litmus: thread P0 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: forall bins[0] == 4
// litmus: test histogram_three_threads
// litmus: thread P0 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P1 = histogram(bytes, 512, bins) @ cta 0, %ntid.x = 256
// litmus: thread P2 = histogram(bytes, 512, bins) @ cta 1, %ntid.x = 256
// litmus: forall bins[0] == 3
// run: grid=2 block=48 bytes=u8[1024]=iota count=1024 bins=u32[256] expect bins == 4
// run: grid=2 block=64 bytes=u8[1000]=random(0,255) count=1000 bins=u32[256]
