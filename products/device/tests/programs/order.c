#include "common.h"

/* The kernels access 64 words: `write` stores, `read` loads, `add` adds with an atomic operation. */
#define KERNEL(name, access)                                                                                     \
  ".visible .entry " name "(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<3>;"                                 \
  " ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; " access " ret; }\n"

static const char *ptx = HEAD KERNEL("write", "st.global.u32 [%rd2], %r1;") KERNEL("read", "ld.global.u32 %r2, [%rd2];")
    KERNEL("add", "red.gpu.global.add.u32 [%rd2], 1;");

enum { BYTES = 256 };

static void function(void *data) { (void)data; }

static void launch(CUgraph graph, CUstream stream) {
  CUgraphExec executable;
  CK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  CK(cuGraphLaunch(executable, stream));
  CK(cuGraphExecDestroy(executable));
}

/* Each word of the command line is an operation: a letter, and the number of a stream. Stream 0 is the default stream, 1
 * and 2 are blocking, and 3 and 4 are not. */
int main(int count, char **words) {
  CUmodule module = begin(ptx);
  CUstream streams[5] = {0};
  CUevent event;
  CUgraph graph, outer;
  CUgraphNode node;
  CUdeviceptr memory, copy;
  void *pinned;
  char host[BYTES];
  for (int index = 1; index < 5; index++) CK(cuStreamCreate(&streams[index], index > 2 ? CU_STREAM_NON_BLOCKING : 0));
  CK(cuEventCreate(&event, 0));
  CK(cuGraphCreate(&outer, 0));
  CK(cuMemAlloc(&memory, 2 * BYTES));
  CK(cuMemAlloc(&copy, BYTES));
  CK(cuMemAllocHost(&pinned, BYTES));
  CK(cuMemsetD8(memory, 0, 2 * BYTES));
  CK(cuCtxSynchronize());
  for (int index = 1; index < count; index++) {
    CUstream stream = streams[words[index][1] - '0'];
    CUdeviceptr other = memory + BYTES;
    void *arguments[] = {&memory}, *others[] = {&other};
    switch (words[index][0]) {
      case 'w': CK(cuLaunchKernel(kernel(module, "write"), 1, 1, 1, 64, 1, 1, 0, stream, arguments, 0)); break;
      case 'o': CK(cuLaunchKernel(kernel(module, "write"), 1, 1, 1, 64, 1, 1, 0, stream, others, 0)); break;
      case 'r': CK(cuLaunchKernel(kernel(module, "read"), 1, 1, 1, 64, 1, 1, 0, stream, arguments, 0)); break;
      case 'a': CK(cuLaunchKernel(kernel(module, "add"), 1, 1, 1, 64, 1, 1, 0, stream, arguments, 0)); break;
      case 'c': CK(cuMemcpyDtoDAsync(copy, memory, BYTES, stream)); break;
      case 'p': CK(cuMemcpyDtoHAsync(pinned, memory, BYTES, stream)); break;
      case 'h': CK(cuMemcpyDtoHAsync(host, memory, BYTES, stream)); break;
      case 'd': CK(cuMemcpyDtoH(host, memory, BYTES)); break;
      case 'i': CK(cuMemcpyDtoD(copy, memory, BYTES)); break;
      case 'm': CK(cuMemsetD8Async(memory, 1, BYTES, stream)); break;
      case 'z':
        /* The second row is outside of the memory. */
        if (cuMemsetD2D8Async(memory, 2 * BYTES, 1, BYTES, 1 << 20, stream) == CUDA_SUCCESS) return 1;
        break;
      case 'f': CK(cuMemFreeAsync(memory, stream)); break;
      case 'e': CK(cuEventRecord(event, stream)); break;
      case 'v': CK(cuStreamWaitEvent(stream, event, 0)); break;
      case 'y': CK(cuEventSynchronize(event)); break;
      case 's': CK(cuStreamSynchronize(stream)); break;
      case 'q': CK(cuStreamQuery(stream)); break;
      case 'l': CK(cuLaunchHostFunc(stream, function, 0)); break;
      case 'x': CK(cuCtxSynchronize()); break;
      case 'b': CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); break;
      case 't': CK(cuStreamEndCapture(stream, &graph)); break;
      case 'k': CK(cuGraphAddChildGraphNode(&node, outer, 0, 0, graph)); break;
      case 'g': launch(graph, stream); break;
      case 'u': launch(outer, stream); break;
    }
  }
  return 0;
}
