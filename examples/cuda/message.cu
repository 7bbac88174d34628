// Pairs of blocks pass messages through plain memory, and count the words that come stale.
#include "block.h"

// One block sets it, another one waits for it and takes it back.
struct Event {
  uint32_t is_set;

  __device__ void set() { __scoped_atomic_store_n(&is_set, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE); }

  __device__ void wait() {
    while (__scoped_atomic_exchange_n(&is_set, 0, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0) {
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
extern "C" __global__ void message(Channel *channels, uint32_t *started, uint32_t rounds, uint32_t *stale) {
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
  __scoped_atomic_fetch_add(stale, found, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// litmus: u32 channels[10], started, stale
// litmus: test message_two_blocks
// litmus: thread P0 = message(channels, started, 1, stale) @ cta 0
// litmus: thread P1 = message(channels, started, 1, stale) @ cta 1
// litmus: forall stale == 0
// litmus: test message_three_threads
// litmus: thread P0 = message(channels, started, 1, stale) @ cta 0
// litmus: thread P1 = message(channels, started, 1, stale) @ cta 1
// litmus: thread P2 = message(channels, started, 1, stale) @ cta 1
// litmus: forall stale == 0
// run: grid=4 block=32 channels=u32[20] started=u32[1] rounds=4 stale=u32[1] expect stale == 0 && started == 4 && channels == 0,0,4,4,4,4,4,4,4,4,0,0,4,4,4,4,4,4,4,4
