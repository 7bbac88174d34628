// A managed variable, and a cluster whose CTAs read each other's shared memory.
#include <cooperative_groups.h>
#include <cstdio>

namespace groups = cooperative_groups;

__managed__ int managed = 5;

__global__ void increase() { managed += 1; }

__global__ void neighbours(int *out) {
  extern __shared__ int own[];
  groups::cluster_group cluster = groups::this_cluster();
  own[0] = cluster.block_rank();
  cluster.sync();
  out[blockIdx.x] = *cluster.map_shared_rank(own, (cluster.block_rank() + 1) % cluster.num_blocks());
  cluster.sync();
}

int main() {
  increase<<<1, 1>>>();
  cudaDeviceSynchronize();
  printf("managed %d\n", managed);
  int *out, host[8];
  cudaMalloc(&out, sizeof(host));
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute;
  config.gridDim = 8;
  config.blockDim = 1;
  config.dynamicSmemBytes = 4;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, neighbours, out);
  cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
  printf("cluster %d %d %d\n", host[0], host[1], host[7]);
}
