// The greatest of floats, by compare and swap.
#include <cuda/atomic>

extern "C" __global__ void float_max(const float *in, float *max) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  cuda::atomic_ref<float, cuda::thread_scope_device> greatest(*max);
  float old = greatest.load(cuda::memory_order_relaxed);
  while (old < value && !greatest.compare_exchange_weak(old, value, cuda::memory_order_relaxed)) {
  }
}
