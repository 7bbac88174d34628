#include "common.h"

static void note(void *data) { ++*(int *)data; }

int main(void) {
  CUfunction add = kernel(begin(ADD), "add");
  CUdeviceptr memory;
  CUstream stream, other;
  CUgraph graph;
  CUgraphExec ready;
  CUevent event;
  unsigned one = 1, result;
  int calls = 0;
  CK(cuMemAlloc(&memory, 4));
  CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CK(cuEventCreate(&event, 0));
  void *arguments[] = {&memory, &one};
  /* A capture that another stream joins and leaves. */
  CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0));
  CK(cuEventRecord(event, stream));
  CK(cuStreamWaitEvent(other, event, 0));
  CK(cuLaunchKernel(add, 1, 1, 1, 2, 1, 1, 0, other, arguments, 0));
  CK(cuEventRecord(event, other));
  CK(cuStreamWaitEvent(stream, event, 0));
  CK(cuLaunchHostFunc(stream, note, &calls));
  CK(cuStreamEndCapture(stream, &graph));
  CK(cuMemsetD32(memory, 0, 1));
  CK(cuGraphInstantiateWithFlags(&ready, graph, 0));
  CK(cuGraphLaunch(ready, stream));
  CK(cuGraphLaunch(ready, stream));
  CK(cuStreamSynchronize(stream));
  CK(cuMemcpyDtoH(&result, memory, 4));
  printf("captured %u\n", result);
  /* Nodes whose dependencies are not in the order in which they are added. */
  CUgraph built;
  CUgraphNode launch, fill;
  CUDA_KERNEL_NODE_PARAMS kernel_node = {0};
  CUDA_MEMSET_NODE_PARAMS fill_node = {memory, 0, 6, 4, 1, 1};
  CUcontext context;
  kernel_node.func = add;
  kernel_node.gridDimX = kernel_node.gridDimY = kernel_node.gridDimZ = 1;
  kernel_node.blockDimX = kernel_node.blockDimY = kernel_node.blockDimZ = 1;
  kernel_node.kernelParams = arguments;
  CK(cuCtxGetCurrent(&context));
  CK(cuGraphCreate(&built, 0));
  CK(cuGraphAddKernelNode(&launch, built, 0, 0, &kernel_node));
  CK(cuGraphAddMemsetNode(&fill, built, 0, 0, &fill_node, context));
  CK(cuGraphAddDependencies(built, &fill, &launch, 1));
  CK(cuGraphInstantiateWithFlags(&ready, built, 0));
  CK(cuGraphLaunch(ready, stream));
  CK(cuMemcpyDtoH(&result, memory, 4));
  printf("built %u\nhost %d\n", result, calls);
  return 0;
}
