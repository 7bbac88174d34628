// Constructs that compilers print in many forms: calls, prototypes, jump tables, data, textures, matrices, debug
// information. For scripts/roundtrip.
#include <cassert>
#include <cuda_fp16.h>
#ifndef __clang__
#include <mma.h>
#endif

struct Pair { int first; double second; };
__constant__ float table[4] = {1.0f, 2.5f, -3.0f, 1e-30f};
__device__ Pair pairs[3] = {{1, 2.0}, {3, 4.0}, {5, 6.5}};
__device__ const char *const names[] = {"one; {", "two \t }"};
__device__ int *pointer = &pairs[1].first;
__shared__ int shared_value;

extern "C" __device__ void outside(int, Pair);
__device__ __noinline__ Pair swap(Pair pair) { return {static_cast<int>(pair.second), static_cast<double>(pair.first)}; }
__device__ __noinline__ int one(int x) { return x + 1; }
__device__ __noinline__ int two(int x) { return x * x; }
__device__ int (*functions[])(int) = {one, two};
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
[[noreturn]] __device__ __noinline__ void stop() { __trap(); }

extern "C" __global__ void calls(int *out, int n) {
  Pair pair = swap(pairs[n % 3]);
  out[0] = pair.first + functions[n & 1](n) + fibonacci(n);
  if (n == 77) stop();
  printf("%s %d %f\n", names[n & 1], pair.first, pair.second);
  assert(n != 78);
}

extern "C" __global__ void jumps(int *out, int n) {
  switch (n) {
  case 0: out[n] = 5; break;
  case 1: out[n * 2] = 17; break;
  case 2: out[n + 7] = out[0]; break;
  case 3: out[1] = __clz(n); break;
  case 4: out[2] = out[3] * 3; break;
  case 5: out[4] = atomicAdd(out, 4); break;
  case 6: __syncthreads(); out[9] = 0; break;
  case 7: out[5] = __popc(out[5]); break;
  default: out[6] = -1;
  }
}

extern "C" __global__ void __launch_bounds__(128, 2) numbers(float *f, double *d, long long *l, __half2 *h, int n) {
  __shared__ float tile[128];
  extern __shared__ double dynamic[];
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  tile[threadIdx.x] = f[i] * table[n & 3];
  __syncthreads();
  float sum = 0;
#pragma unroll 4
  for (int at = 0; at < n; at++) sum = fmaf(tile[at & 127], sinf(sum), __expf(sum));
  dynamic[threadIdx.x] = d[i] / 3.0 + sqrt(d[i]);
  f[i] = sum + __shfl_xor_sync(~0u, sum, 1) + __ldg(f + n);
  d[i] = dynamic[(threadIdx.x + 1) & 127];
  l[i] = (l[i] * 0x123456789abcdefll >> 7) + __ballot_sync(~0u, sum > 0) + clock64();
#ifndef __CUDACC_DEBUG__
  l[i] += __dp4a(n, i, 3);
#endif
  h[i] = __hfma2(h[i], h[i], __float2half2_rn(sum));
  if (i == 0) shared_value = n;
  asm volatile("{\n .reg .pred p; .reg .b32 r<3>;\n setp.ne.s32 p, %0, 0;\n @p add.s32 r1, %0, 1;\n @!p mov.b32 r1, 7;\n"
               " st.global.b32 [%1], r1; // the end\n}" ::"r"(n), "l"(l) : "memory");
  asm volatile("{\n .reg .pred p; .reg .b32 r<3>;\n again: atom.global.cas.b32 r1, [%1], %0, 3;\n setp.ne.s32 p, r1, %0;\n"
               " @p bra again;\n}" ::"r"(n), "l"(l) : "memory");
}

extern "C" __global__ void images(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float4 *out) {
  int i = threadIdx.x;
#ifndef __clang__
  out[i] = tex2D<float4>(texture, i, 0.5f);
  surf2Dwrite(out[i + 1].x, surface, i * 4, 0);
#endif
}

#ifndef __clang__
extern "C" __global__ void matrices(const __half *a, const __half *b, float *c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> left;
  fragment<matrix_b, 16, 16, 16, __half, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, a, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/barrier>
#include <cuda/atomic>

extern "C" __global__ void blocks(int *keys) {
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Scan = cub::BlockScan<int, 128>;
  __shared__ union { Sort::TempStorage sort; Scan::TempStorage scan; } storage;
  int mine[4];
  for (int at = 0; at < 4; at++) mine[at] = keys[threadIdx.x * 4 + at];
  Sort(storage.sort).Sort(mine);
  __syncthreads();
  Scan(storage.scan).InclusiveSum(mine, mine);
  for (int at = 0; at < 4; at++) keys[threadIdx.x * 4 + at] = mine[at];
}

extern "C" __global__ void copies(const int *from, int *to) {
  __shared__ alignas(16) int buffer[512];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(buffer + threadIdx.x * 4, from + threadIdx.x * 4, cuda::aligned_size_t<16>(16), barrier);
  barrier.arrive_and_wait();
  cuda::atomic_ref<int, cuda::thread_scope_device>(to[0]).fetch_add(buffer[threadIdx.x], cuda::std::memory_order_acq_rel);
}
#endif
