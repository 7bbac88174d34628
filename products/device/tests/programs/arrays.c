#include "common.h"
#include <string.h>

/* p[0..4] = the results of a texture at (x, y); s[x bytes] = n. */
#define KERNELS HEAD \
  ".visible .entry fetch(.param .u64 t, .param .u64 p, .param .f32 x, .param .f32 y) { .reg .b64 %rd<3>; .reg .f32 %f<7>;" \
  " ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [p]; ld.param.f32 %f1, [x]; ld.param.f32 %f2, [y];" \
  " tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}]; st.global.v4.f32 [%rd2], {%f3, %f4, %f5, %f6}; ret; }\n" \
  ".visible .entry store(.param .u64 s, .param .u32 x, .param .u32 n) { .reg .b64 %rd<2>; .reg .b32 %r<3>;" \
  " ld.param.u64 %rd1, [s]; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [n]; sust.b.1d.b32.trap [%rd1, {%r1}], %r2; ret; }\n"

int main(void) {
  CUmodule module = begin(KERNELS);
  CUfunction fetch = kernel(module, "fetch"), store = kernel(module, "store");
  CUarray plane, line, volume;
  CUDA_ARRAY_DESCRIPTOR of = {0}, found;
  CUDA_ARRAY3D_DESCRIPTOR deep = {0}, found_deep;
  of.Width = 6;
  of.Height = 3;
  of.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  of.NumChannels = 2;
  CK(cuArrayCreate(&plane, &of));
  CK(cuArrayGetDescriptor(&found, plane));
  int equal = found.Width == 6 && found.Height == 3 && found.Format == of.Format && found.NumChannels == 2;
  deep.Width = 4;
  deep.Height = 3;
  deep.Depth = 2;
  deep.Format = CU_AD_FORMAT_FLOAT;
  deep.NumChannels = 1;
  deep.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CK(cuArray3DCreate(&volume, &deep));
  CK(cuArray3DGetDescriptor(&found_deep, volume));
  printf("formats %d\n", equal && found_deep.Depth == 2 && found_deep.Flags == deep.Flags && found_deep.NumChannels == 1);
  /* A line, from a byte on, by both sides. */
  of.Width = 16;
  of.Height = 0;
  of.Format = CU_AD_FORMAT_SIGNED_INT32;
  of.NumChannels = 1;
  CK(cuArrayCreate(&line, &of));
  int from[16], to[16] = {0};
  CUdeviceptr memory;
  for (int i = 0; i < 16; i++) from[i] = i * i;
  CK(cuMemAlloc(&memory, 64));
  CK(cuMemcpyHtoA(line, 0, from, 64));
  CK(cuMemcpyAtoD(memory, line, 8, 40));
  CK(cuMemcpyDtoA(line, 24, memory, 40));
  CK(cuMemcpyAtoH(to, line, 0, 64));
  equal = 1;
  for (int i = 0; i < 16; i++) equal &= to[i] == (i < 6 ? from[i] : from[i - 4]);
  printf("lines %d\n", equal);
  /* A part of a volume. */
  float floats[2][3][4], part[2][2][2] = {{{0}}};
  for (int i = 0; i < 24; i++) floats[i / 12][i / 4 % 3][i % 4] = (float)i;
  CUDA_MEMCPY3D copy = {0};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = floats;
  copy.srcPitch = 16;
  copy.srcHeight = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = volume;
  copy.WidthInBytes = 16;
  copy.Height = 3;
  copy.Depth = 2;
  CK(cuMemcpy3D(&copy));
  CUDA_MEMCPY3D back = {0};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = volume;
  back.srcXInBytes = 8;
  back.srcY = 1;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = part;
  back.dstPitch = 8;
  back.dstHeight = 2;
  back.WidthInBytes = 8;
  back.Height = 2;
  back.Depth = 2;
  CK(cuMemcpy3D(&back));
  equal = 1;
  for (int i = 0; i < 8; i++) equal &= part[i / 4][i / 2 % 2][i % 2] == floats[i / 4][1 + i / 2 % 2][2 + i % 2];
  printf("volume %d\n", equal);
  back.srcY = 2;
  printf("outside %d\n", cuMemcpy3D(&back));
  /* A texture of the plane: the second element of the second row. */
  unsigned char bytes[3][12];
  for (int i = 0; i < 36; i++) bytes[i / 12][i % 12] = (unsigned char)(i == 14 ? 128 : 0);
  CUDA_MEMCPY2D rows = {0};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = bytes;
  rows.srcPitch = 12;
  rows.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  rows.dstArray = plane;
  rows.WidthInBytes = 12;
  rows.Height = 3;
  CK(cuMemcpy2D(&rows));
  CUDA_RESOURCE_DESC resource = {0}, other;
  CUDA_TEXTURE_DESC sampling = {0}, held;
  CUtexObject texture;
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = plane;
  for (int i = 0; i < 3; i++) sampling.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
  sampling.filterMode = CU_TR_FILTER_MODE_POINT;
  CK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
  float x = 1.5f, y = 1.5f, values[4];
  void *arguments[] = {&texture, &memory, &x, &y};
  CK(cuLaunchKernel(fetch, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CK(cuMemcpyDtoH(values, memory, 16));
  printf("texture %f %.1f %.1f\n", values[0], values[1], values[3]);
  CK(cuTexObjectGetResourceDesc(&other, texture));
  CK(cuTexObjectGetTextureDesc(&held, texture));
  printf("descriptions %d\n", other.res.array.hArray == plane && held.addressMode[2] == CU_TR_ADDRESS_MODE_CLAMP);
  /* A surface of the line. */
  CUsurfObject surface;
  int at = 12, value = 7;
  void *stored[] = {&surface, &at, &value};
  resource.res.array.hArray = line;
  CK(cuSurfObjectCreate(&surface, &resource));
  CK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, 0, stored, 0));
  CK(cuMemcpyAtoH(to, line, 12, 4));
  printf("surface %d\n", to[0]);
  /* Integers are not interpolated; sRGB is not supported; a part of an element; a surface of linear memory. */
  sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
  int codes[4];
  codes[0] = cuTexObjectCreate(&texture, &resource, &sampling, NULL);
  sampling.flags = CU_TRSF_SRGB;
  resource.res.array.hArray = plane;
  codes[1] = cuTexObjectCreate(&texture, &resource, &sampling, NULL);
  of.NumChannels = 3;
  codes[2] = cuArrayCreate(&line, &of);
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_FLOAT;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = 64;
  codes[3] = cuSurfObjectCreate(&surface, &resource);
  printf("refused %d %d %d %d\n", codes[0], codes[1], codes[2], codes[3]);
  CK(cuArrayDestroy(plane));
  CK(cuLaunchKernel(fetch, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  printf("destroyed %d\n", cuCtxSynchronize());
  return 0;
}
