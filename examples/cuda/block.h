// A block's place in the order of starting.
#pragma once
#include <cstdint>

// How many blocks started before this one. A block may wait for those: they run, or have run. It may not wait for blocks of a
// lower index, which may start later.
static __device__ uint32_t starting_order(uint32_t *started) {
  return __scoped_atomic_fetch_add(started, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
