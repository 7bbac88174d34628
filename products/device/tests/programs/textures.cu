// Textures, arrays and surfaces. Each line is the number of wrong values, compared with formulas of the CUDA C++
// Programming Guide.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

const int W = 7, H = 5, D = 3, N = 64;

#define CK(call) do { cudaError_t code_ = (call); if (code_ != cudaSuccess) { printf("%s: %s\n", #call, cudaGetErrorName(code_)); return 1; } } while (0)

__device__ float coordinate(int i, int axis) { return -2.4f + 0.37f * ((i * (5 + 2 * axis)) % 29); }

// The same coordinates on the host.
static float at(int i, int axis) { return -2.4f + 0.37f * ((i * (5 + 2 * axis)) % 29); }

__global__ void plane(cudaTextureObject_t t, float *to, float scale) {
  int i = threadIdx.x;
  to[i] = tex2D<float>(t, coordinate(i, 0) * scale, coordinate(i, 1) * scale);
}
__global__ void volume(cudaTextureObject_t t, float *to) {
  int i = threadIdx.x;
  to[i] = tex3D<float>(t, coordinate(i, 0), coordinate(i, 1), coordinate(i, 2));
}
__global__ void layers(cudaTextureObject_t t, float *to) {
  int i = threadIdx.x;
  to[i] = tex2DLayered<float>(t, coordinate(i, 0), coordinate(i, 1), i % D);
}
__global__ void line(cudaTextureObject_t t, float *to) { to[threadIdx.x] = tex1Dfetch<float>(t, (int)threadIdx.x - 2); }
__global__ void fractions(cudaTextureObject_t t, float *to) {
  uchar4 unused;
  (void)unused;
  float4 all = tex2D<float4>(t, threadIdx.x % W, threadIdx.x / W % H);
  to[threadIdx.x] = all.x + 2 * all.y + 3 * all.z + 4 * all.w;
}
__global__ void cube(cudaTextureObject_t t, float *to) {
  int i = threadIdx.x;
  float x = (i % 4 + 0.5f) / 2 - 1, y = (i / 4 % 4 + 0.5f) / 2 - 1;
  to[i] = texCubemap<float>(t, 1, x, y);
}
__global__ void surface(cudaSurfaceObject_t s) {
  int x = threadIdx.x % W, y = threadIdx.x / W;
  if (y >= H) return;
  float old;
  surf2Dread(&old, s, x * 4, y);
  surf2Dwrite(old * 2 + 1, s, x * 4, y);
  surf2Dwrite(-1.0f, s, W * 4, y, cudaBoundaryModeZero);
}

static int inside(int i, int size, cudaTextureAddressMode mode) {
  if (mode == cudaAddressModeWrap) return (i % size + size) % size;
  if (mode == cudaAddressModeBorder) return i < 0 || i >= size ? -1 : i;
  return i < 0 ? 0 : i >= size ? size - 1 : i;
}

// The value of a texture with elements `of` at up to three coordinates.
template <class Of>
static float expected(Of of, int axes, const float *at, const int *sizes, bool is_linear, cudaTextureAddressMode mode) {
  int first[3] = {0, 0, 0};
  float weight[3] = {0, 0, 0};
  for (int a = 0; a < axes; a++) {
    float x = is_linear ? at[a] - 0.5f : at[a];
    first[a] = (int)floorf(x);
    weight[a] = is_linear ? roundf((x - floorf(x)) * 256) / 256 : 0;
  }
  double sum = 0;
  for (int corner = 0; corner < 8; corner++) {
    double part = 1;
    int index[3] = {0, 0, 0};
    bool is_border = false;
    for (int a = 0; a < 3; a++) {
      int second = corner >> a & 1;
      part *= second ? weight[a] : 1 - weight[a];
      index[a] = a < axes ? inside(first[a] + second, sizes[a], mode) : 0;
      is_border |= index[a] < 0;
    }
    if (part != 0 && !is_border) sum += part * of(index[0], index[1], index[2]);
  }
  return (float)sum;
}

static float element(int x, int y, int z) { return x * x + 10 * y - 3 * z + 0.5f; }

static float *results;

template <class Of> static int wrong(Of of) {
  float host[N];
  int count = 0;
  if (cudaMemcpy(host, results, sizeof(host), cudaMemcpyDeviceToHost) != cudaSuccess) return -1;
  for (int i = 0; i < N; i++) {
    float value = of(i);
    if (!(fabsf(host[i] - value) <= 1e-5f * (1 + fabsf(value)))) count++;
  }
  return count;
}

static cudaTextureDesc sampling(cudaTextureAddressMode mode, bool is_linear, bool is_normalized) {
  cudaTextureDesc of;
  memset(&of, 0, sizeof(of));
  for (int a = 0; a < 3; a++) of.addressMode[a] = mode;
  of.filterMode = is_linear ? cudaFilterModeLinear : cudaFilterModePoint;
  of.normalizedCoords = is_normalized;
  return of;
}

int main() {
  CK(cudaMalloc(&results, N * sizeof(float)));
  const int sizes[3] = {W, H, D};
  std::vector<float> all(W * H * D);
  for (int i = 0; i < W * H * D; i++) all[i] = element(i % W, i / W % H, i / W / H);
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaResourceDesc resource;
  memset(&resource, 0, sizeof(resource));
  cudaTextureObject_t t;

  // An array, with each filter and address mode.
  cudaArray_t array;
  CK(cudaMallocArray(&array, &floats, W, H, cudaArraySurfaceLoadStore));
  CK(cudaMemcpy2DToArray(array, 0, 0, all.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  int count = 0;
  for (int m = 0; m < 3; m++)
    for (int is_linear = 0; is_linear < 2; is_linear++) {
      const cudaTextureAddressMode modes[3] = {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeBorder};
      cudaTextureDesc of = sampling(modes[m], is_linear, m == 0);
      CK(cudaCreateTextureObject(&t, &resource, &of, nullptr));
      // Coordinates between elements are exact in both forms: they are scaled by an eighth.
      float scale = m == 0 ? 0.125f : 1.0f;
      plane<<<1, N>>>(t, results, scale);
      count += wrong([&](int i) {
        float place[2] = {at(i, 0) * scale * (m == 0 ? W : 1), at(i, 1) * scale * (m == 0 ? H : 1)};
        return expected(element, 2, place, sizes, is_linear, modes[m]);
      });
      CK(cudaDestroyTextureObject(t));
    }
  printf("arrays %d\n", count);

  // Linear memory: an index outside gives zero.
  float *memory;
  CK(cudaMalloc(&memory, all.size() * 4));
  CK(cudaMemcpy(memory, all.data(), all.size() * 4, cudaMemcpyHostToDevice));
  cudaResourceDesc linear;
  memset(&linear, 0, sizeof(linear));
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = memory;
  linear.res.linear.desc = floats;
  linear.res.linear.sizeInBytes = 50 * 4;
  cudaTextureDesc of = sampling(cudaAddressModeClamp, false, false);
  CK(cudaCreateTextureObject(&t, &linear, &of, nullptr));
  line<<<1, N>>>(t, results);
  printf("linear memory %d\n", wrong([&](int i) { return i < 2 || i >= 52 ? 0.0f : all[i - 2]; }));

  // Rows with a pitch, whose elements are four bytes, read as fractions.
  unsigned char *rows;
  size_t pitch;
  std::vector<unsigned char> bytes(W * H * 4);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = i * 37 + 11;
  CK(cudaMallocPitch(&rows, &pitch, W * 4, H));
  CK(cudaMemcpy2D(rows, pitch, bytes.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
  cudaResourceDesc pitched;
  memset(&pitched, 0, sizeof(pitched));
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D.devPtr = rows;
  pitched.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  pitched.res.pitch2D.width = W;
  pitched.res.pitch2D.height = H;
  pitched.res.pitch2D.pitchInBytes = pitch;
  of.readMode = cudaReadModeNormalizedFloat;
  CK(cudaCreateTextureObject(&t, &pitched, &of, nullptr));
  fractions<<<1, N>>>(t, results);
  printf("rows %d\n", wrong([&](int i) {
    const unsigned char *of = &bytes[(i / W % H * W + i % W) * 4];
    return (of[0] + 2.0f * of[1] + 3.0f * of[2] + 4.0f * of[3]) / 255;
  }));

  // A volume, and layers.
  cudaExtent size = make_cudaExtent(W, H, D);
  for (int is_layered = 0; is_layered < 2; is_layered++) {
    cudaArray_t deep;
    CK(cudaMalloc3DArray(&deep, &floats, size, is_layered ? cudaArrayLayered : cudaArrayDefault));
    cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof(copy));
    copy.srcPtr = make_cudaPitchedPtr(all.data(), W * 4, W, H);
    copy.dstArray = deep;
    copy.extent = size;
    copy.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&copy));
    cudaResourceDesc of_deep = resource;
    of_deep.res.array.array = deep;
    cudaTextureDesc of = sampling(cudaAddressModeClamp, true, false);
    CK(cudaCreateTextureObject(&t, &of_deep, &of, nullptr));
    if (is_layered) layers<<<1, N>>>(t, results); else volume<<<1, N>>>(t, results);
    printf("%s %d\n", is_layered ? "layers" : "volume", wrong([&](int i) {
      float place[3] = {at(i, 0), at(i, 1), at(i, 2)};
      auto layer = [&](int x, int y, int) { return element(x, y, i % D); };
      return is_layered ? expected(layer, 2, place, sizes, true, cudaAddressModeClamp)
                        : expected(element, 3, place, sizes, true, cudaAddressModeClamp);
    }));
    CK(cudaFreeArray(deep));
  }

  // The first face of a cube: s is -z, and t is -y.
  cudaArray_t faces;
  std::vector<float> sides(4 * 4 * 6);
  for (size_t i = 0; i < sides.size(); i++) sides[i] = i;
  CK(cudaMalloc3DArray(&faces, &floats, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
  cudaMemcpy3DParms copy;
  memset(&copy, 0, sizeof(copy));
  copy.srcPtr = make_cudaPitchedPtr(sides.data(), 16, 4, 4);
  copy.dstArray = faces;
  copy.extent = make_cudaExtent(4, 4, 6);
  copy.kind = cudaMemcpyHostToDevice;
  CK(cudaMemcpy3D(&copy));
  cudaResourceDesc of_faces = resource;
  of_faces.res.array.array = faces;
  of = sampling(cudaAddressModeClamp, false, true);
  CK(cudaCreateTextureObject(&t, &of_faces, &of, nullptr));
  cube<<<1, N>>>(t, results);
  printf("cube %d\n", wrong([&](int i) { return (float)((3 - i % 4 % 4) * 4 + (3 - i / 4 % 4)) ; }));

  // A surface of the first array.
  cudaSurfaceObject_t s;
  CK(cudaCreateSurfaceObject(&s, &resource));
  surface<<<1, N>>>(s);
  std::vector<float> back(W * H);
  CK(cudaMemcpy2DFromArray(back.data(), W * 4, array, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
  count = 0;
  for (int i = 0; i < W * H; i++) count += back[i] != all[i] * 2 + 1;
  printf("surface %d\n", count);

  cudaResourceDesc held;
  cudaTextureDesc read;
  cudaChannelFormatDesc channels;
  cudaExtent extent;
  unsigned flags;
  CK(cudaCreateTextureObject(&t, &pitched, &of, nullptr));
  CK(cudaGetTextureObjectResourceDesc(&held, t));
  CK(cudaGetTextureObjectTextureDesc(&read, t));
  CK(cudaGetChannelDesc(&channels, faces));
  CK(cudaArrayGetInfo(nullptr, &extent, &flags, faces));
  printf("descriptions %d\n", held.resType == cudaResourceTypePitch2D && held.res.pitch2D.pitchInBytes == pitch &&
         held.res.pitch2D.desc.w == 8 && held.res.pitch2D.desc.f == cudaChannelFormatKindUnsigned &&
         read.normalizedCoords == 1 && read.readMode == cudaReadModeElementType && channels.x == 32 && channels.y == 0 &&
         channels.f == cudaChannelFormatKindFloat && extent.depth == 6 && flags == cudaArrayCubemap);
  CK(cudaDestroySurfaceObject(s));
  CK(cudaFreeArray(array));
  printf("freed %d\n", cudaFreeArray(array) != cudaSuccess && cudaDestroyTextureObject(s) != cudaSuccess);
}
