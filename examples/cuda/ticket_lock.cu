// Each block increments a plain counter under a ticket lock.
#include <cstdint>

// First come, first served.
struct TicketLock {
  uint32_t next;
  uint32_t serving;

  __device__ void lock() {
    // The ticket orders nothing; what the last owner wrote comes with `serving`.
    uint32_t ticket = __scoped_atomic_fetch_add(&next, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(&serving, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != ticket) {
    }
  }

  __device__ void unlock() { __scoped_atomic_fetch_add(&serving, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE); }
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

// litmus: u32 lock[2], counter
// litmus: test ticket_lock_two_blocks
// litmus: thread P0 = ticket_lock(lock, 1, counter) @ cta 0
// litmus: thread P1 = ticket_lock(lock, 1, counter) @ cta 1
// litmus: forall counter == 2
// litmus: test ticket_lock_three_blocks
// litmus: thread P0 = ticket_lock(lock, 1, counter) @ cta 0
// litmus: thread P1 = ticket_lock(lock, 1, counter) @ cta 1
// litmus: thread P2 = ticket_lock(lock, 1, counter) @ cta 2
// litmus: forall counter == 3
// run: grid=4 block=32 lock=u32[2] rounds=8 counter=u32[1] expect counter == 32 && lock == 32
