// A reduction, and a cooperative grid that reverses a buffer.
#include <cooperative_groups.h>
#include <cstdio>

__global__ void reduce(const int *in, int *out, int n) {
  __shared__ int sums[256];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

__global__ void reverse(int *data, int n) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;
  grid.sync();
  int value = data[n - 1 - i];
  grid.sync();
  data[i] = value;
}

int main() {
  int n = 10000, threads = 512, sum, *in, *out, host[512];
  cudaMallocManaged(&in, n * sizeof(int));
  for (int i = 0; i < n; i++) in[i] = i % 7;
  cudaMalloc(&out, threads * sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  reduce<<<8, 256>>>(in, out, n);
  cudaMemcpy(&sum, out, sizeof(int), cudaMemcpyDefault);
  printf("sum %d\n", sum);
  void *arguments[] = {&out, &threads};
  cudaLaunchCooperativeKernel((void *)reverse, dim3(8), dim3(64), arguments, 0, 0);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  bool is_reversed = true;
  for (int i = 0; i < threads; i++) is_reversed &= host[i] == threads - 1 - i;
  printf("reversed %d\n", is_reversed);
}
