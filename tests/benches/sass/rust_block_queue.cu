// A bounded queue of a block in shared memory, with the scope by hand.
#include <cuda/atomic>

struct Slot {
  unsigned stamp;
  unsigned value;
};

__shared__ Slot slots[64];
__shared__ unsigned tail, head;

extern "C" __global__ void push(unsigned mask, unsigned value) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> end(tail);
  unsigned at = end.load(cuda::memory_order_relaxed);
  while (true) {
    Slot &slot = slots[at & mask];
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> stamp(slot.stamp);
    if (stamp.load(cuda::memory_order_acquire) != at) {
      at = end.load(cuda::memory_order_relaxed);
    } else if (end.compare_exchange_weak(at, at + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) {
      slot.value = value;
      stamp.store(at + 1, cuda::memory_order_release);
      return;
    }
  }
}

extern "C" __global__ void pop(unsigned mask, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> end(head);
  unsigned at = end.load(cuda::memory_order_relaxed);
  while (true) {
    Slot &slot = slots[at & mask];
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> stamp(slot.stamp);
    if (stamp.load(cuda::memory_order_acquire) != at + 1) {
      at = end.load(cuda::memory_order_relaxed);
    } else if (end.compare_exchange_weak(at, at + 1, cuda::memory_order_seq_cst, cuda::memory_order_relaxed)) {
      *out = slot.value;
      stamp.store(at + mask + 1, cuda::memory_order_release);
      return;
    }
  }
}
