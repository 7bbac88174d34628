#include "common.h"

struct fields {
  CUdeviceptr memory;
  unsigned count;
};

/* Launches the kernels of a file of PTX: `count` in two sizes, and `fields` with a struct. */
int main(int count, char **names) {
  static char text[1 << 16];
  FILE *file = count > 1 ? fopen(names[1], "r") : NULL;
  if (!file || !fread(text, 1, sizeof text - 1, file)) return 1;
  CUmodule module = begin(text);
  CUdeviceptr memory;
  CK(cuMemAlloc(&memory, 512));
  CK(cuMemsetD32(memory, 7, 128));
  unsigned number = 32;
  void *arguments[] = {&memory, &number};
  for (int block = 32; block <= 64; block += 32) {
    CK(cuLaunchKernel(kernel(module, "count"), 1, 1, 1, block, 1, 1, 0, 0, arguments, 0));
  }
  struct fields all = {memory + 256, 64};
  void *fields[] = {&all};
  CK(cuLaunchKernel(kernel(module, "fields"), 1, 1, 1, 64, 1, 1, 0, 0, fields, 0));
  return cuCtxSynchronize();
}
