// Variables in constant and global memory, and output of a kernel.
#include <cstdio>

__constant__ int factors[4];
__device__ int result = 3;

__global__ void use() {
  printf("printed %d %f\n", result, 1.5);
  result = factors[2] + 4;
}

int main() {
  int host[4] = {1, 2, 3, 4}, value;
  void *address;
  printf("constant %d\n", cudaMemcpyToSymbol(factors, host, sizeof(host)) == cudaSuccess && cudaGetSymbolAddress(&address, factors) == cudaSuccess);
  use<<<1, 1>>>();
  printf("read ");
  fflush(stdout);
  cudaMemcpyFromSymbol(&value, result, sizeof(int));
  printf("%d\n", value);
}
