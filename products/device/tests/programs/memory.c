#include "common.h"

int main(void) {
  CUfunction add = kernel(begin(ADD), "add");
  /* Rows of 12 bytes, to the device and back with other pitches. */
  unsigned char from[4][16], to[4][20];
  CUdeviceptr rows;
  size_t pitch;
  for (int i = 0; i < 64; i++) from[i / 16][i % 16] = (unsigned char)i;
  CK(cuMemAllocPitch(&rows, &pitch, 12, 4, 4));
  CUDA_MEMCPY2D copy = {0};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from;
  copy.srcPitch = 16;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = rows;
  copy.dstPitch = pitch;
  copy.WidthInBytes = 12;
  copy.Height = 4;
  CK(cuMemcpy2D(&copy));
  CUDA_MEMCPY2D back = {0};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = rows;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = to;
  back.dstPitch = 20;
  back.WidthInBytes = 12;
  back.Height = 4;
  CK(cuMemcpy2D(&back));
  int equal = 1;
  for (int i = 0; i < 4; i++) for (int j = 0; j < 12; j++) equal &= to[i][j] == from[i][j];
  printf("pitched %d\n", equal);
  /* The host and a kernel write the same managed memory. */
  CUdeviceptr managed;
  unsigned n = 3;
  CK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  *(unsigned *)managed = 7;
  void *arguments[] = {&managed, &n};
  CK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CK(cuCtxSynchronize());
  printf("managed %u\n", *(unsigned *)managed);
  unsigned *host = malloc(64);
  CUdeviceptr mapped;
  *host = 9;
  CK(cuMemHostRegister(host, 64, CU_MEMHOSTREGISTER_DEVICEMAP));
  CK(cuMemHostGetDevicePointer(&mapped, host, 0));
  arguments[0] = &mapped;
  CK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CK(cuCtxSynchronize());
  printf("registered %u\n", *host);
  CK(cuMemHostUnregister(host));
  CUdeviceptr start;
  size_t bytes;
  CK(cuMemGetAddressRange(&start, &bytes, managed + 100));
  printf("range %d\n", start == managed && bytes == 4096);
  CK(cuMemFree(managed));
  printf("freed %d\n", cuMemFree(managed));
  /* Two pieces of memory in a row of a reservation. */
  CUmemAllocationProp properties = {0};
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle pieces[2];
  CUdeviceptr reserved;
  unsigned last = 5;
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = access.location;
  CK(cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CK(cuMemAddressReserve(&reserved, 2 * bytes, 0, 0, 0));
  for (int i = 0; i < 2; i++) {
    CK(cuMemCreate(&pieces[i], bytes, &properties, 0));
    CK(cuMemMap(reserved + i * bytes, bytes, 0, pieces[i], 0));
  }
  CK(cuMemSetAccess(reserved, 2 * bytes, &access, 1));
  printf("mapped again %d\n", cuMemMap(reserved, bytes, 0, pieces[1], 0));
  CUdeviceptr end = reserved + 2 * bytes - 4;
  CK(cuMemcpyHtoD(end, &last, 4));
  arguments[0] = &end;
  CK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CK(cuMemcpyDtoH(&last, end, 4));
  CK(cuMemUnmap(reserved, 2 * bytes));
  for (int i = 0; i < 2; i++) CK(cuMemRelease(pieces[i]));
  CK(cuMemAddressFree(reserved, 2 * bytes));
  printf("reserved %u, released %d\n", last, cuMemRelease(pieces[0]));
  return 0;
}
