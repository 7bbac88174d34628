// Each block increments a plain counter under a ticket lock.
#include "block.h"

// First come, first served.
struct ticket_lock {
  atomic_u32 next;
  atomic_u32 serving;
};

static void lock(struct ticket_lock *lock) {
  // The ticket orders nothing; what the last owner wrote comes with `serving`.
  uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
  while (atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket) {
  }
}

static void unlock(struct ticket_lock *lock) {
  atomic_fetch_add_explicit(&lock->serving, 1, memory_order_release);
}

__gpu_kernel void ticket_lock(struct ticket_lock *guard, uint32_t rounds, uint32_t *counter) {
  if (__gpu_thread_id_x() != 0)
    return;
  for (uint32_t round = 0; round < rounds; ++round) {
    lock(guard);
    *counter += 1;
    unlock(guard);
  }
}

// run: grid=4 block=32 lock=u32[2] rounds=8 counter=u32[1] expect counter == 32 && lock == 32
