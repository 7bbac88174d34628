// The sums of all prefixes, in one pass: a block looks back at the tiles before its own until one knows its prefix.
#include "block.h"

enum { NOTHING, SUM, PREFIX };

// What a block publishes of its tile. Sum and prefix are plain words: the state alone says whether they are there.
struct Tile {
  atomic_u32 state;
  uint32_t sum;    // of this tile
  uint32_t prefix; // of all tiles up to this one

  __device__ void publish(uint32_t next) { state.store(next, cuda::memory_order_release); }
};

// The sum of all tiles before one.
static __device__ uint32_t look_back(Tile *tiles, uint32_t tile) {
  uint32_t before = 0;
  while (tile != 0) {
    Tile &earlier = tiles[tile - 1];
    switch (earlier.state.load(cuda::memory_order_acquire)) {
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
extern "C" __global__ void scan(const uint32_t *input, uint32_t count, uint32_t *output, atomic_u32 *started, Tile *tiles) {
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
