// Streams, events, a captured graph, a callback, and occupancy.
#include <cstdio>

__global__ void increase(int *value) { atomicAdd(value, 1); }

static void CUDART_CB note(void *data) { ++*(int *)data; }

int main() {
  int *value, result, calls = 0;
  float milliseconds = -1;
  cudaStream_t stream;
  cudaEvent_t start, end;
  cudaMalloc(&value, sizeof(int));
  cudaMemset(value, 0, sizeof(int));
  cudaStreamCreate(&stream);
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  cudaEventRecord(start, stream);
  increase<<<1, 1, 0, stream>>>(value);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  printf("events %d\n", cudaEventElapsedTime(&milliseconds, start, end) == cudaSuccess && milliseconds >= 0);
  cudaMemset(value, 0, sizeof(int));
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  increase<<<2, 32, 0, stream>>>(value);
  increase<<<1, 32, 0, stream>>>(value);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  for (int i = 0; i < 3; i++) cudaGraphLaunch(ready, stream);
  cudaLaunchHostFunc(stream, note, &calls);
  cudaStreamSynchronize(stream);
  cudaMemcpy(&result, value, sizeof(int), cudaMemcpyDeviceToHost);
  printf("graph %d\ncallback %d\n", result, calls);
  // Memory that a graph allocates, and that the program frees after each launch.
  int *temporary;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaMallocAsync((void **)&temporary, sizeof(int), stream);
  cudaMemsetAsync(temporary, 0, sizeof(int), stream);
  increase<<<1, 7, 0, stream>>>(temporary);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&ready, graph, 0);
  for (int i = 0; i < 2; i++) {
    cudaGraphLaunch(ready, stream);
    cudaMemcpyAsync(&result, temporary, sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(temporary, stream);
  }
  printf("allocated %d %s\n", result, cudaGetErrorName(cudaStreamSynchronize(stream)));
  int grid, block;
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, increase, 0, 0);
  printf("occupancy %d\n", grid > 0 && block == 1024);
}
