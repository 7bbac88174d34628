// A bounded queue with many producers and many consumers: a ticket names the slot, whose sequence number says whose turn it
// is.
#include "block.h"

struct Ring {
  uint32_t started;
  uint32_t tail;
  uint32_t head;
};

// The sequence number of slot `i` is `i` at first, `ticket + 1` when the item of a ticket is in it, and `ticket + capacity`
// when that was taken out.
struct Slot {
  uint32_t sequence;
  uint32_t value;

  // Waits until it is a ticket's turn at the slot, whose value is then the caller's.
  __device__ void wait(uint32_t turn) {
    while (__scoped_atomic_load_n(&sequence, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) != turn) {
    }
    __scoped_atomic_thread_fence(__ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
  }

  // Hands the slot to the ticket whose turn is next.
  __device__ void pass(uint32_t turn) {
    __scoped_atomic_store_n(&sequence, turn, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
};

// Of the blocks, in the order in which they start, every other one produces `rounds` items, and the next one consumes as many.
// `capacity` is a power of two. With `rounds <= capacity` a lone producer has room for all its items, so that no block waits
// for one that has not started.
extern "C" __global__ void ring(Ring *ring, Slot *slots, uint32_t capacity, uint32_t rounds, uint32_t *taken) {
  if (threadIdx.x != 0)
    return;
  uint32_t order = starting_order(&ring->started);
  if (order % 2 == 0) {
    for (uint32_t round = 0; round < rounds; ++round) {
      uint32_t ticket = __scoped_atomic_fetch_add(&ring->tail, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
      Slot &slot = slots[ticket & (capacity - 1)];
      slot.wait(ticket);
      slot.value = order / 2 * rounds + round;
      slot.pass(ticket + 1);
    }
  } else {
    for (uint32_t round = 0; round < rounds; ++round) {
      uint32_t ticket = __scoped_atomic_fetch_add(&ring->head, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
      Slot &slot = slots[ticket & (capacity - 1)];
      slot.wait(ticket + 1);
      taken[ticket] = slot.value;
      slot.pass(ticket + capacity);
    }
  }
}

// litmus: u32 ring[3], slots[4] = {0, 9, 1, 9}, taken[2] = {7, 7}
// litmus: test ring_two_blocks
// litmus: thread P0 = ring(ring, slots, 2, 1, taken) @ cta 0
// litmus: thread P1 = ring(ring, slots, 2, 1, taken) @ cta 1
// litmus: forall taken[0] == 0
// litmus: test ring_three_blocks
// litmus: thread P0 = ring(ring, slots, 2, 1, taken) @ cta 0
// litmus: thread P1 = ring(ring, slots, 2, 1, taken) @ cta 1
// litmus: thread P2 = ring(ring, slots, 2, 1, taken) @ cta 2
// litmus: forall taken[0] == 0 \/ taken[0] == 1
// run: grid=2 block=32 ring=u32[3] slots=u32[16]=0,0,1,0,2,0,3,0,4,0,5,0,6,0,7,0 capacity=8 rounds=8 taken=u32[8] expect taken == iota && ring == 2,8,8
// run: grid=6 block=32 ring=u32[3] slots=u32[8]=0,0,1,0,2,0,3,0 capacity=4 rounds=4 taken=u32[12]=0xffffffff expect taken < 12 && ring == 6,12,12
