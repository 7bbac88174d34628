// Each block increments a plain counter under a ticket lock.
#include "block.h"

// First come, first served.
struct TicketLock {
  atomic_u32 next;
  atomic_u32 serving;

  void lock() {
    // The ticket orders nothing; what the last owner wrote comes with `serving`.
    uint32_t ticket = next.fetch_add(1, std::memory_order_relaxed);
    while (serving.load(std::memory_order_acquire) != ticket) {
    }
  }

  void unlock() { serving.fetch_add(1, std::memory_order_release); }
};

extern "C" __gpu_kernel void ticket_lock(TicketLock *lock, uint32_t rounds, uint32_t *counter) {
  if (__gpu_thread_id_x() != 0)
    return;
  for (uint32_t round = 0; round < rounds; ++round) {
    lock->lock();
    *counter += 1;
    lock->unlock();
  }
}

// run: grid=4 block=32 lock=u32[2] rounds=8 counter=u32[1] expect counter == 32 && lock == 32
