// Pairs of blocks pass messages through plain memory, and count the words that come stale.
#include "block.h"

// One block sets an event, another one waits for it and takes it back.
static void set(atomic_u32 *event) {
  atomic_store_explicit(event, 1, memory_order_release);
}

static void wait(atomic_u32 *event) {
  while (atomic_exchange_explicit(event, 0, memory_order_acquire) == 0) {
  }
}

enum { WORDS = 8 };

struct channel {
  atomic_u32 full;
  atomic_u32 empty;
  uint32_t words[WORDS];
};

static void send(struct channel *channel, uint32_t round) {
  for (int word = 0; word < WORDS; ++word)
    channel->words[word] = round;
  set(&channel->full);
  wait(&channel->empty);
}

static uint32_t receive(struct channel *channel, uint32_t round) {
  uint32_t stale = 0;
  wait(&channel->full);
  for (int word = 0; word < WORDS; ++word)
    stale += channel->words[word] != round;
  set(&channel->empty);
  return stale;
}

// Of the blocks, in the order in which they start, every other one sends, and the next one receives. The GPU must have room
// for two blocks at a time; their number is even.
__gpu_kernel void message(struct channel *channels, atomic_u32 *started, uint32_t rounds, atomic_u32 *stale) {
  if (__gpu_thread_id_x() != 0)
    return;
  uint32_t order = starting_order(started);
  struct channel *channel = &channels[order / 2];
  uint32_t found = 0;
  if (order % 2 == 0) {
    for (uint32_t round = 1; round <= rounds; ++round)
      send(channel, round);
  } else {
    for (uint32_t round = 1; round <= rounds; ++round)
      found += receive(channel, round);
  }
  atomic_fetch_add_explicit(stale, found, memory_order_relaxed);
}

// run: grid=4 block=32 channels=u32[20] started=u32[1] rounds=4 stale=u32[1] expect stale == 0 && started == 4 && channels == 0,0,4,4,4,4,4,4,4,4,0,0,4,4,4,4,4,4,4,4
