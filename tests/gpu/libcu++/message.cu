// Pairs of blocks pass messages through plain memory, and count the words that come stale.
#include "block.h"

// One block sets it, another one waits for it and takes it back.
struct Event {
  atomic_u32 is_set;

  __device__ void set() { is_set.store(1, cuda::memory_order_release); }

  __device__ void wait() {
    while (is_set.exchange(0, cuda::memory_order_acquire) == 0) {
    }
  }
};

struct Channel {
  Event full;
  Event empty;
  uint32_t words[8];

  __device__ void send(uint32_t round) {
    for (uint32_t &word : words)
      word = round;
    full.set();
    empty.wait();
  }

  __device__ uint32_t receive(uint32_t round) {
    uint32_t stale = 0;
    full.wait();
    for (uint32_t word : words)
      stale += word != round;
    empty.set();
    return stale;
  }
};

// Of the blocks, in the order in which they start, every other one sends, and the next one receives. The GPU must have room
// for two blocks at a time; their number is even.
extern "C" __global__ void message(Channel *channels, atomic_u32 *started, uint32_t rounds, atomic_u32 *stale) {
  if (threadIdx.x != 0)
    return;
  uint32_t order = starting_order(started);
  Channel &channel = channels[order / 2];
  uint32_t found = 0;
  if (order % 2 == 0) {
    for (uint32_t round = 1; round <= rounds; ++round)
      channel.send(round);
  } else {
    for (uint32_t round = 1; round <= rounds; ++round)
      found += channel.receive(round);
  }
  stale->fetch_add(found, cuda::memory_order_relaxed);
}
