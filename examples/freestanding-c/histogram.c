// How often each byte occurs. Every block counts in shared memory, then adds to the sum of all blocks.
#include "block.h"

enum { BINS = 256 };

static __gpu_local atomic_u32 local_bins[BINS];

__gpu_kernel void histogram(const uint8_t *bytes, uint32_t count, atomic_u32 *bins) {
  uint32_t thread = __gpu_thread_id_x(), threads = __gpu_num_threads_x();

  for (uint32_t bin = thread; bin < BINS; bin += threads)
    atomic_init(&local_bins[bin], 0);
  __gpu_sync_threads();

  for (uint32_t index = __gpu_block_id_x() * threads + thread; index < count; index += __gpu_num_blocks_x() * threads)
    atomic_fetch_add_explicit(&local_bins[bytes[index]], 1, memory_order_relaxed);
  __gpu_sync_threads();

  for (uint32_t bin = thread; bin < BINS; bin += threads) {
    uint32_t local = atomic_load_explicit(&local_bins[bin], memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[bin], local, memory_order_relaxed);
  }
}

// run: grid=2 block=48 bytes=u8[1024]=iota count=1024 bins=u32[256] expect bins == 4
// run: grid=2 block=64 bytes=u8[1000]=random(0,255) count=1000 bins=u32[256]
