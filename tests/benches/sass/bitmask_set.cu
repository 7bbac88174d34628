// Marks vertices as visited in a bit set, and says which were not before.
#include <cuda/atomic>

extern "C" __global__ void bitmask_set(const unsigned *vertices, unsigned *visited, unsigned char *first) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned vertex = vertices[i];
  unsigned bit = 1u << vertex % 32;
  unsigned old = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(visited[vertex / 32]).fetch_or(bit, cuda::memory_order_relaxed);
  first[i] = (old & bit) == 0;
}
