// Pairs of blocks of one warp each, among blocks that keep the memory busy. The first block of a pair writes, and the
// second block reads.
//
// In idle memory, a store arrives before an addition that follows it, with or without a release. If many blocks load
// from many addresses, stores wait in different parts of the memory, and a missing release becomes visible.
#pragma once
#include "../../../examples/freestanding-c/block.h"
#include <stddef.h>

enum { MOST_LANES = 32, MOST_STRIDE = 64 };

// The host sets `stride`, the distance between the lanes' words in words, and `writers`, the number of lanes that
// write.
struct pair {
  atomic_u32 full;
  atomic_u32 empty;
  uint32_t stride;
  uint32_t writers;
  uint32_t zero;
  uint32_t words[MOST_LANES * MOST_STRIDE];
};

// A launch. The host sets the number of pairs, the number of rounds, and the number of words in `room`, a power of two.
struct launch {
  atomic_u32 started;
  atomic_u32 ended;
  uint32_t pairs;
  uint32_t rounds;
  uint32_t room;
};

static __gpu_local uint32_t place;

// The block's position in the order of starting. The assembler can infer that it is the same for all lanes.
static uint32_t place_of_block(atomic_u32 *started) {
  if (__gpu_thread_id_x() == 0)
    place = starting_order(started);
  __gpu_sync_threads();
  return place;
}

// The lane's word, or NULL.
static uint32_t *word_of_lane(struct pair *pair) {
  uint32_t lane = __gpu_thread_id_x();
  return lane < pair->writers ? &pair->words[lane * pair->stride] : NULL;
}

// Tells the writer that the reader has read all words, so that the writer may write again.
static void pass_back(struct pair *pair, uint32_t round) {
  __gpu_sync_threads();
  if (__gpu_thread_id_x() == 0)
    atomic_store_explicit(&pair->empty, round, memory_order_release);
}

static void wait_for_reader(struct pair *pair, uint32_t round) {
  if (__gpu_thread_id_x() == 0)
    while (atomic_load_explicit(&pair->empty, memory_order_acquire) != round) {
    }
  __gpu_sync_threads();
}

// Each kernel defines the write of a warp in a round, and the read. `read` returns whether the lane's word is stale.
static void write(struct pair *pair, uint32_t *word, uint32_t round);
static uint32_t read(struct pair *pair, const uint32_t *word, uint32_t round);

// Loads from pseudo-random addresses until all pairs have ended.
static void keep_busy(struct launch *launch, const volatile uint32_t *room) {
  uint32_t number = place * MOST_LANES + __gpu_thread_id_x();
  while (atomic_load_explicit(&launch->ended, memory_order_relaxed) != launch->pairs)
    for (int load = 0; load < 64; ++load) {
      number = number * 1664525 + 1013904223;
      room[number * 977 & (launch->room - 1)];
    }
}

// The first blocks in the order of starting form pairs: a block with an even position writes, and the next block reads.
// The GPU must have room for two blocks at a time.
static void all_rounds(struct pair *pairs, struct launch *launch, const uint32_t *room, atomic_u32 *stale) {
  uint32_t order = place_of_block(&launch->started);
  if (order / 2 >= launch->pairs)
    return keep_busy(launch, room);
  struct pair *pair = &pairs[order / 2];
  uint32_t *word = word_of_lane(pair), rounds = launch->rounds, found = 0;
  for (uint32_t round = 1; round <= rounds; ++round)
    if (order % 2 == 0)
      write(pair, word, round);
    else
      found += read(pair, word, round);
  atomic_fetch_add_explicit(stale, found, memory_order_relaxed);
  if (order % 2 == 1 && __gpu_thread_id_x() == 0)
    atomic_fetch_add_explicit(&launch->ended, 1, memory_order_relaxed);
}
