/* The parts that the programs of the driver API share. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CK(call) do { CUresult code_ = (call); if (code_ != 0) { printf("%s: %d\n", #call, code_); exit(1); } } while (0)

/* Makes a context, and loads a module. */
static CUmodule begin(const char *ptx) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CK(cuInit(0));
  CK(cuDeviceGet(&device, 0));
  CK(cuDevicePrimaryCtxRetain(&context, device));
  CK(cuCtxSetCurrent(context));
  CK(cuModuleLoadData(&module, ptx));
  return module;
}

static CUfunction kernel(CUmodule module, const char *name) {
  CUfunction function;
  CK(cuModuleGetFunction(&function, module, name));
  return function;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* p[0] += n, atomically. */
#define ADD HEAD \
  ".visible .entry add(.param .u64 p, .param .u32 n) { .reg .b64 %rd<2>; .reg .b32 %r<2>;" \
  " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; red.global.add.u32 [%rd1], %r1; ret; }\n"
