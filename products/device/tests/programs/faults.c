#include "common.h"

static const char *fails = HEAD
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
    ".global .align 1 .b8 text[2] = {120, 0};\n"
    ".visible .entry fails() { .reg .b64 %rd<3>; mov.u64 %rd1, text; cvta.global.u64 %rd2, %rd1;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    " st.param.b64 [a], %rd2; st.param.b64 [b], %rd2; st.param.b32 [c], 1; st.param.b64 [d], %rd2; st.param.b64 [e], 1;\n"
    " call.uni __assertfail, (a, b, c, d, e); }\n ret; }\n";

int main(void) {
  CUfunction add = kernel(begin(ADD), "add");
  CUdeviceptr wrong = 64, memory;
  unsigned one = 1;
  void *arguments[] = {&wrong, &one};
  printf("launch %d\n", cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  printf("synchronize %d\n", cuCtxSynchronize());
  printf("allocate %d\n", cuMemAlloc(&memory, 4));
  printf("reset %d\n", cuDevicePrimaryCtxReset(0));
  CUfunction function = kernel(begin(fails), "fails");
  CK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
  printf("assertion %d\n", cuCtxSynchronize());
  return 0;
}
