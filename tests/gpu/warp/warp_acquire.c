// Every lane reads the same flag by an addition of zero with acquire, and then reads a word that a lane of another warp
// wrote. The assembler combines the additions, and from sm_90 on only one lane acquires. The other lanes read stale
// words if its barrier does not serve the whole warp.
#include "pair.h"

static void write(struct pair *pair, uint32_t *word, uint32_t round) {
  if (word)
    *word = round;
  __gpu_sync_threads();
  if (__gpu_thread_id_x() == 0)
    atomic_store_explicit(&pair->full, round, memory_order_release);
  wait_for_reader(pair, round);
}

// The compiler cannot infer that the operand is zero, so it does not turn the addition into a load.
static uint32_t read(struct pair *pair, const uint32_t *word, uint32_t round) {
  uint32_t zero = pair->zero;
  while (atomic_fetch_add_explicit(&pair->full, zero, memory_order_acquire) != round) {
  }
  uint32_t stale = word && *word != round;
  pass_back(pair, round);
  return stale;
}

__gpu_kernel void warp_acquire(struct pair *pairs, struct launch *launch, const uint32_t *room, atomic_u32 *stale) {
  all_rounds(pairs, launch, room, stale);
}
