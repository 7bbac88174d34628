// Adds pairs of halves in global memory. libcu++ has no such operation; the intrinsic is relaxed, of device scope.
#include <cuda_fp16.h>

extern "C" __global__ void half2_sum(const __half2 *in, __half2 *sum) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum, in[i]);
}
