// Pairs of blocks of one warp, of which the first writes and the second reads.
#pragma once
#include "../../examples/freestanding-c/block.h"

enum { MOST_LANES = 32, MOST_STRIDE = 64 };

// The host sets `stride`: how far the lanes' words are apart, in words.
struct pair {
  atomic_u32 full;
  atomic_u32 empty;
  uint32_t stride;
  uint32_t zero;
  uint32_t words[MOST_LANES * MOST_STRIDE];
};

static __gpu_local uint32_t place;

// The block's place in the order of starting: one number for all lanes, as far as the assembler can tell.
static uint32_t place_of_block(atomic_u32 *started) {
  if (__gpu_thread_id_x() == 0)
    place = starting_order(started);
  __gpu_sync_threads();
  return place;
}

static uint32_t *word_of(struct pair *pair, uint32_t lane) {
  return &pair->words[lane * pair->stride];
}

// How many words are not those of a round.
static uint32_t stale_words(struct pair *pair, uint32_t round) {
  uint32_t stale = 0;
  for (uint32_t lane = 0; lane < __gpu_num_threads_x(); ++lane)
    stale += *word_of(pair, lane) != round;
  return stale;
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

// A kernel defines how a warp writes in a round, and how one reads: the number of stale words.
static void write(struct pair *pair, uint32_t round);
static uint32_t read(struct pair *pair, uint32_t round);

// Of the blocks, in the order in which they start, every other one writes, and the next one reads. The GPU must have room for
// two blocks at a time; their number is even.
static uint32_t all_rounds(struct pair *pairs, atomic_u32 *started, uint32_t rounds) {
  uint32_t order = place_of_block(started), stale = 0;
  struct pair *pair = &pairs[order / 2];
  for (uint32_t round = 1; round <= rounds; ++round)
    if (order % 2 == 0)
      write(pair, round);
    else
      stale += read(pair, round);
  return stale;
}
