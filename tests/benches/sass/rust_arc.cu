// A count of references as Rust's Arc: one is taken and dropped.
#include <cuda/atomic>

extern "C" __global__ void rust_arc(unsigned long long *count, const unsigned *object, unsigned *freed) {
  cuda::atomic_ref<unsigned long long> references(*count);
  references.fetch_add(1, cuda::memory_order_relaxed);
  unsigned seen = *object;
  if (references.fetch_sub(1, cuda::memory_order_release) == 1) {
    cuda::atomic_thread_fence(cuda::memory_order_acquire);
    *freed = *object + seen;
  }
}
