// Every lane writes a separate word and adds to the same count with release. The assembler combines the additions, and
// from sm_90 on only the last lane releases. A reader finds the words of the other lanes stale if its barrier does not
// serve the whole warp. If the last lanes write nothing, the barrier has no write of its own lane to wait for.
#include "pair.h"

static void write(struct pair *pair, uint32_t *word, uint32_t round) {
  if (word)
    *word = round;
  atomic_fetch_add_explicit(&pair->full, 1, memory_order_release);
  __gpu_sync_threads();
  wait_for_reader(pair, round);
}

static uint32_t read(struct pair *pair, const uint32_t *word, uint32_t round) {
  while (atomic_load_explicit(&pair->full, memory_order_acquire) != round * __gpu_num_threads_x()) {
  }
  uint32_t stale = word && *word != round;
  pass_back(pair, round);
  return stale;
}

__gpu_kernel void warp_release(struct pair *pairs, struct launch *launch, const uint32_t *room, atomic_u32 *stale) {
  all_rounds(pairs, launch, room, stale);
}
