// The look-back of a one-pass scan. A word is a state (1: a block's sum, 2: that of all blocks to it) and a value.
#include <cuda/atomic>

extern "C" __global__ void lookback(unsigned long long *words, const unsigned *sums, unsigned *prefixes) {
  unsigned sum = sums[blockIdx.x], prefix = 0;
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> own(words[blockIdx.x]);
  own.store(1ull << 32 | sum, cuda::memory_order_release);
  for (unsigned block = blockIdx.x; block-- != 0;) {
    unsigned long long word;
    do {
      word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(words[block]).load(cuda::memory_order_acquire);
    } while (word >> 32 == 0);
    prefix += (unsigned)word;
    if (word >> 32 == 2)
      break;
  }
  own.store(2ull << 32 | prefix + sum, cuda::memory_order_release);
  prefixes[blockIdx.x] = prefix;
}
