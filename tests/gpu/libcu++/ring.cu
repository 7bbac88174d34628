// A bounded queue with many producers and many consumers: a ticket names the slot, whose sequence number says whose turn it
// is.
#include "block.h"

struct Ring {
  atomic_u32 started;
  atomic_u32 tail;
  atomic_u32 head;
};

// The sequence number of slot `i` is `i` at first, `ticket + 1` when the item of a ticket is in it, and `ticket + capacity`
// when that was taken out.
struct Slot {
  atomic_u32 sequence;
  uint32_t value;

  // Waits until it is a ticket's turn at the slot, whose value is then the caller's.
  __device__ void wait(uint32_t turn) {
    while (sequence.load(cuda::memory_order_relaxed) != turn) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  }

  // Hands the slot to the ticket whose turn is next.
  __device__ void pass(uint32_t turn) { sequence.store(turn, cuda::memory_order_release); }
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
      uint32_t ticket = ring->tail.fetch_add(1, cuda::memory_order_relaxed);
      Slot &slot = slots[ticket & (capacity - 1)];
      slot.wait(ticket);
      slot.value = order / 2 * rounds + round;
      slot.pass(ticket + 1);
    }
  } else {
    for (uint32_t round = 0; round < rounds; ++round) {
      uint32_t ticket = ring->head.fetch_add(1, cuda::memory_order_relaxed);
      Slot &slot = slots[ticket & (capacity - 1)];
      slot.wait(ticket + 1);
      taken[ticket] = slot.value;
      slot.pass(ticket + capacity);
    }
  }
}
