// Pairs of blocks of one warp, of which the first writes and the second reads, among blocks that keep the memory busy.
//
// Where the memory is idle, a store arrives before an addition that follows it, released or not. Where many blocks load from
// all over it, stores wait, each at another part of the memory: then a release that is missing shows.
#pragma once
#include "../../../examples/freestanding-c/block.h"
#include <stddef.h>

enum { MOST_LANES = 32, MOST_STRIDE = 64 };

// The host sets `stride`, how far the lanes' words are apart, in words; and `writers`: the lanes from this one on write nothing.
struct pair {
  atomic_u32 full;
  atomic_u32 empty;
  uint32_t stride;
  uint32_t writers;
  uint32_t zero;
  uint32_t words[MOST_LANES * MOST_STRIDE];
};

// One launch. The host sets the numbers: of pairs, of rounds, and of words in the memory that is loaded from, a power of two.
struct launch {
  atomic_u32 started;
  atomic_u32 ended;
  uint32_t pairs;
  uint32_t rounds;
  uint32_t room;
};

static __gpu_local uint32_t place;

// The block's place in the order of starting: one number for all lanes, as far as the assembler can tell.
static uint32_t place_of_block(atomic_u32 *started) {
  if (__gpu_thread_id_x() == 0)
    place = starting_order(started);
  __gpu_sync_threads();
  return place;
}

// The lane's word, or nothing.
static uint32_t *word_of_lane(struct pair *pair) {
  uint32_t lane = __gpu_thread_id_x();
  return lane < pair->writers ? &pair->words[lane * pair->stride] : NULL;
}

// The reader has read all, and the writer may write again.
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

// A kernel defines how a warp writes in a round, and how one reads: whether the lane's word is not the round's.
static void write(struct pair *pair, uint32_t *word, uint32_t round);
static uint32_t read(struct pair *pair, const uint32_t *word, uint32_t round);

// Loads, in no order, until all pairs have ended.
static void keep_busy(struct launch *launch, const volatile uint32_t *room) {
  uint32_t number = place * MOST_LANES + __gpu_thread_id_x();
  while (atomic_load_explicit(&launch->ended, memory_order_relaxed) != launch->pairs)
    for (int load = 0; load < 64; ++load) {
      number = number * 1664525 + 1013904223;
      room[number * 977 & (launch->room - 1)];
    }
}

// Of the blocks, in the order in which they start, the first are pairs, of which every other block writes, and the next one
// reads. The GPU must have room for two blocks at a time.
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
