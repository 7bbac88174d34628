// The sums of all prefixes, in one pass: a block looks back at the tiles before its own until one knows its prefix.
#include "block.h"

enum { NOTHING, SUM, PREFIX };

// What a block publishes of its tile. Sum and prefix are plain words: the state alone says whether they are there.
struct tile {
  atomic_u32 state;
  uint32_t sum;    // of this tile
  uint32_t prefix; // of all tiles up to this one
};

// The sum of all tiles before one.
static uint32_t look_back(struct tile *tiles, uint32_t tile) {
  uint32_t before = 0;
  while (tile != 0) {
    struct tile *earlier = &tiles[tile - 1];
    switch (atomic_load_explicit(&earlier->state, memory_order_acquire)) {
    case PREFIX:
      return before + earlier->prefix;
    case SUM:
      before += earlier->sum;
      --tile;
    }
  }
  return before;
}

static __gpu_local uint32_t sums[1024];
static __gpu_local uint32_t tile, before;

// A tile is as long as a block, of at most 1024 threads. There is a block for each tile. Tiles are given out in the order in
// which blocks start, so that no block waits for one that has not started.
__gpu_kernel void scan(const uint32_t *input, uint32_t count, uint32_t *output, atomic_u32 *started, struct tile *tiles) {
  uint32_t thread = __gpu_thread_id_x(), threads = __gpu_num_threads_x();
  if (thread == 0)
    tile = starting_order(started);
  __gpu_sync_threads();
  uint32_t index = tile * threads + thread;

  uint32_t sum = index < count ? input[index] : 0;
  sums[thread] = sum;
  __gpu_sync_threads();
  for (uint32_t step = 1; step < threads; step *= 2) {
    uint32_t left = thread >= step ? sums[thread - step] : 0;
    __gpu_sync_threads();
    sum += left;
    sums[thread] = sum;
    __gpu_sync_threads();
  }

  if (thread == 0) {
    struct tile *own = &tiles[tile];
    own->sum = sums[threads - 1];
    atomic_store_explicit(&own->state, SUM, memory_order_release);
    before = look_back(tiles, tile);
    own->prefix = before + sums[threads - 1];
    atomic_store_explicit(&own->state, PREFIX, memory_order_release);
  }
  __gpu_sync_threads();
  if (index < count)
    output[index] = sum + before;
}

// run: grid=3 block=64 input=u32[180]=1 count=180 output=u32[180] started=u32[1] tiles=u32[9] expect output[0] == 1 && output[179] == 180 && started == 3
// run: grid=3 block=8 input=u32[22]=iota count=22 output=u32[22] started=u32[1] tiles=u32[9] expect output == 0,1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,210,231
