// A bounded queue as crossbeam's ArrayQueue, of system scope as all of core::sync::atomic.
#include <cuda/atomic>

struct Slot {
  unsigned stamp;
  unsigned value;
};

extern "C" __global__ void push(Slot *slots, unsigned *tail, unsigned mask, unsigned value) {
  cuda::atomic_ref<unsigned> end(*tail);
  unsigned at = end.load(cuda::memory_order_relaxed);
  while (true) {
    Slot &slot = slots[at & mask];
    cuda::atomic_ref<unsigned> stamp(slot.stamp);
    if (stamp.load(cuda::memory_order_acquire) != at) {
      at = end.load(cuda::memory_order_relaxed);
    } else if (end.compare_exchange_weak(at, at + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) {
      slot.value = value;
      stamp.store(at + 1, cuda::memory_order_release);
      return;
    }
  }
}

extern "C" __global__ void pop(Slot *slots, unsigned *head, unsigned mask, unsigned *out) {
  cuda::atomic_ref<unsigned> end(*head);
  unsigned at = end.load(cuda::memory_order_relaxed);
  while (true) {
    Slot &slot = slots[at & mask];
    cuda::atomic_ref<unsigned> stamp(slot.stamp);
    if (stamp.load(cuda::memory_order_acquire) != at + 1) {
      at = end.load(cuda::memory_order_relaxed);
    } else if (end.compare_exchange_weak(at, at + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) {
      *out = slot.value;
      stamp.store(at + mask + 1, cuda::memory_order_release);
      return;
    }
  }
}
