// The sums of all prefixes, in one pass: a block looks back at the tiles before its own until one knows its prefix.
#include "block.h"

enum { NOTHING, SUM, PREFIX };

// What a block publishes of its tile. Sum and prefix are plain words: the state alone says whether they are there.
struct Tile {
  uint32_t state;
  uint32_t sum;    // of this tile
  uint32_t prefix; // of all tiles up to this one

  __device__ void publish(uint32_t next) { __scoped_atomic_store_n(&state, next, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE); }
};

// The sum of all tiles before one.
static __device__ uint32_t look_back(Tile *tiles, uint32_t tile) {
  uint32_t before = 0;
  while (tile != 0) {
    Tile &earlier = tiles[tile - 1];
    switch (__scoped_atomic_load_n(&earlier.state, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)) {
    case PREFIX:
      return before + earlier.prefix;
    case SUM:
      before += earlier.sum;
      --tile;
    }
  }
  return before;
}

// A tile is as long as a block, of at most 1024 threads. There is a block for each tile. Tiles are given out in the order in
// which blocks start, so that no block waits for one that has not started.
extern "C" __global__ void scan(const uint32_t *input, uint32_t count, uint32_t *output, uint32_t *started, Tile *tiles) {
  __shared__ uint32_t sums[1024];
  __shared__ uint32_t tile, before;
  uint32_t thread = threadIdx.x, threads = blockDim.x;
  if (thread == 0)
    tile = starting_order(started);
  __syncthreads();
  uint32_t index = tile * threads + thread;

  uint32_t sum = index < count ? input[index] : 0;
  sums[thread] = sum;
  __syncthreads();
  for (uint32_t step = 1; step < threads; step *= 2) {
    uint32_t left = thread >= step ? sums[thread - step] : 0;
    __syncthreads();
    sum += left;
    sums[thread] = sum;
    __syncthreads();
  }

  if (thread == 0) {
    Tile &own = tiles[tile];
    own.sum = sums[threads - 1];
    own.publish(SUM);
    before = look_back(tiles, tile);
    own.prefix = before + sums[threads - 1];
    own.publish(PREFIX);
  }
  __syncthreads();
  if (index < count)
    output[index] = sum + before;
}

// litmus: u32 input[4] = {3, 5, 7, 9}, output[4], started, tiles[9]
// litmus: u32 one_started = 1, first_tile[6] = {2, 8, 8}
// litmus: test scan_one_block
// litmus: thread P0 = scan(input, 4, output, one_started, first_tile) @ cta 1
// litmus: thread P1 = scan(input, 4, output, one_started, first_tile) @ cta 1
// litmus: forall output[2] == 15 /\ output[3] == 24
// litmus: test scan_two_blocks
// litmus: thread P0 = scan(input, 2, output, started, tiles) @ cta 0
// litmus: thread P1 = scan(input, 2, output, started, tiles) @ cta 1
// litmus: forall output[0] == 3 /\ output[1] == 8
// litmus: test scan_three_blocks
// litmus: thread P0 = scan(input, 3, output, started, tiles) @ cta 0
// litmus: thread P1 = scan(input, 3, output, started, tiles) @ cta 1
// litmus: thread P2 = scan(input, 3, output, started, tiles) @ cta 2
// litmus: forall output[0] == 3 /\ output[1] == 8 /\ output[2] == 15
// run: grid=3 block=64 input=u32[180]=1 count=180 output=u32[180] started=u32[1] tiles=u32[9] expect output[0] == 1 && output[179] == 180 && started == 3
// run: grid=3 block=8 input=u32[22]=iota count=22 output=u32[22] started=u32[1] tiles=u32[9] expect output == 0,1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,210,231
