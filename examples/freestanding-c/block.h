// What a block of threads has beyond gpuintrin.h: its place in the order of starting.
#pragma once
#include <gpuintrin.h>
#include <stdatomic.h>

typedef _Atomic uint32_t atomic_u32;

// How many blocks started before this one. A block may wait for those: they run, or have run. It may not wait for blocks of a
// lower index, which may start later.
static inline uint32_t starting_order(atomic_u32 *started) {
  return atomic_fetch_add_explicit(started, 1, memory_order_relaxed);
}
