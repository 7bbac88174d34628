// The position of a block in the order in which the blocks start.
#pragma once
#include <cuda/atomic>

using atomic_u32 = cuda::atomic<uint32_t, cuda::thread_scope_device>;

static __device__ uint32_t starting_order(atomic_u32 *started) {
  return started->fetch_add(1, cuda::memory_order_relaxed);
}
