// A ring buffer for many producers and consumers: a ticket names the slot, whose sequence number says whose turn it is.
#include <cuda/atomic>

struct Slot {
  unsigned sequence;
  unsigned value;
};

extern "C" __global__ void push(Slot *slots, unsigned *tail, unsigned mask, unsigned value) {
  unsigned ticket = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*tail).fetch_add(1, cuda::memory_order_acq_rel);
  Slot &slot = slots[ticket & mask];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> sequence(slot.sequence);
  while (sequence.load(cuda::memory_order_acquire) != ticket) {
  }
  slot.value = value;
  sequence.store(ticket + 1, cuda::memory_order_release);
}

extern "C" __global__ void pop(Slot *slots, unsigned *head, unsigned mask, unsigned *out) {
  unsigned ticket = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*head).fetch_add(1, cuda::memory_order_acq_rel);
  Slot &slot = slots[ticket & mask];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> sequence(slot.sequence);
  while (sequence.load(cuda::memory_order_acquire) != ticket + 1) {
  }
  *out = slot.value;
  sequence.store(ticket + mask + 1, cuda::memory_order_release);
}
