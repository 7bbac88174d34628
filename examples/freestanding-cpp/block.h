// What a block of threads has beyond gpuintrin.h: its place in the order of starting.
#pragma once
#include <atomic>
#include <gpuintrin.h>

using atomic_u32 = std::atomic<uint32_t>;

// How many blocks started before this one. A block may wait for those: they run, or have run. It may not wait for blocks of a
// lower index, which may start later.
static inline uint32_t starting_order(atomic_u32 *started) {
  return started->fetch_add(1, std::memory_order_relaxed);
}
