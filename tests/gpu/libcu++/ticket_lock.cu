// Each block increments a plain counter under a ticket lock.
#include "block.h"

// First come, first served.
struct TicketLock {
  atomic_u32 next;
  atomic_u32 serving;

  __device__ void lock() {
    // The ticket orders nothing; what the last owner wrote comes with `serving`.
    uint32_t ticket = next.fetch_add(1, cuda::memory_order_relaxed);
    while (serving.load(cuda::memory_order_acquire) != ticket) {
    }
  }

  __device__ void unlock() { serving.fetch_add(1, cuda::memory_order_release); }
};

extern "C" __global__ void ticket_lock(TicketLock *lock, uint32_t rounds, uint32_t *counter) {
  if (threadIdx.x != 0)
    return;
  for (uint32_t round = 0; round < rounds; ++round) {
    lock->lock();
    *counter += 1;
    lock->unlock();
  }
}
