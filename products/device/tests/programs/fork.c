#include "common.h"

#include <sys/wait.h>
#include <unistd.h>

/* Each side has its own device. */
int main(void) {
  pid_t child = fork();
  CUfunction add = kernel(begin(ADD), "add");
  CUdeviceptr memory;
  unsigned one = 1;
  CK(cuMemAlloc(&memory, 4));
  CK(cuMemsetD32(memory, 0, 1));
  void *arguments[] = {&memory, &one};
  CK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0));
  if (child > 0) wait(0);
  return cuCtxSynchronize();
}
