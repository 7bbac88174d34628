#include "common.h"

static const char *ptx = HEAD
    ".visible .global .align 4 .u32 g = 5;\n"
    ".visible .entry k(.param .u64 p, .param .u32 n) { .reg .b64 %rd<2>; .reg .b32 %r<4>;"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.global.u32 %r2, [g]; add.u32 %r3, %r1, %r2;"
    " st.global.u32 [%rd1], %r3; ret; }\n";

int main(void) {
  CUmodule module = begin(ptx);
  CUfunction function = kernel(module, "k");
  CUdeviceptr memory, variable;
  unsigned n = 7, result;
  size_t bytes;
  CK(cuMemAlloc(&memory, 16));
  void *arguments[] = {&memory, &n};
  CK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CK(cuMemcpyDtoH(&result, memory, 4));
  CK(cuModuleGetGlobal(&variable, &bytes, module, "g"));
  printf("%u %zu\n", result, bytes);
  void *address;
  CUdriverProcAddressQueryResult status;
  CK(cuGetProcAddress("cuMemAlloc", &address, 12000, 0, &status));
  printf("found %d\n", address == (void *)cuMemAlloc && status == CU_GET_PROC_ADDRESS_SUCCESS);
  // Triton asks for an attribute of newer drivers first, and takes the old one if the new one is refused.
  printf("newer attribute %d\n", cuFuncSetAttribute(function, 17, 3));
  printf("missing %d\n", cuModuleGetFunction(&function, module, "none"));
  CUmipmappedArray array;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {0};
  printf("unsupported %d\n", cuMipmappedArrayCreate(&array, &descriptor, 2));
  int major, minor;
  CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  CK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  printf("attribute %d %d\n", major, minor);
  return 0;
}
