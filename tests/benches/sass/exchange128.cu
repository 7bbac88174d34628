// Exchanges a pointer with its version, 16 bytes.
#include <cuda/atomic>

struct alignas(16) Versioned {
  unsigned long long pointer;
  unsigned long long version;
};

extern "C" __global__ void exchange128(Versioned *head, Versioned next, Versioned *out) {
  *out = cuda::atomic_ref<Versioned, cuda::thread_scope_device>(*head).exchange(next, cuda::memory_order_acq_rel);
}
