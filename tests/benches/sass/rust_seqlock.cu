// A sequence lock as crossbeam's: a reader, and writers that lock each other out.
#include <cuda/atomic>

extern "C" __global__ void read(unsigned *sequence, unsigned *data, unsigned *out) {
  cuda::atomic_ref<unsigned> version(*sequence), first(data[0]), second(data[1]);
  while (true) {
    unsigned before = version.load(cuda::memory_order_acquire);
    if (before % 2 == 1)
      continue;
    unsigned sum = first.load(cuda::memory_order_relaxed) + second.load(cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::memory_order_acquire);
    if (version.load(cuda::memory_order_relaxed) == before) {
      *out = sum;
      return;
    }
  }
}

extern "C" __global__ void write(unsigned *sequence, unsigned *data, unsigned value) {
  cuda::atomic_ref<unsigned> version(*sequence), first(data[0]), second(data[1]);
  unsigned before = 1;
  while (before == 1)
    before = version.exchange(1, cuda::memory_order_acquire);
  cuda::atomic_thread_fence(cuda::memory_order_release);
  first.store(value, cuda::memory_order_relaxed);
  second.store(value, cuda::memory_order_relaxed);
  version.store(before + 2, cuda::memory_order_release);
}
