#include "common.h"

/* Both store the thread's number: one kernel in the same place, one in places of their own. */
static const char *ptx = HEAD
    ".visible .entry racy(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;"
    " ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret; }\n"
    ".visible .entry free(.param .u64 p) { .reg .b64 %rd<3>; .reg .b32 %r<2>;"
    " ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r1; ret; }\n";

int main(void) {
  CUmodule module = begin(ptx);
  CUdeviceptr memory;
  CK(cuMemAlloc(&memory, 256));
  void *arguments[] = {&memory};
  CK(cuLaunchKernel(kernel(module, "racy"), 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0));
  CK(cuLaunchKernel(kernel(module, "free"), 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0));
  CK(cuLaunchKernel(kernel(module, "free"), 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0));
  return cuCtxSynchronize();
}
