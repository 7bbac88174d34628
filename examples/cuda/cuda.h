// The words of CUDA that the kernels need, for clang without the CUDA SDK (-nocudainc). With the SDK, leave this file out.
#pragma once
#include <__clang_cuda_builtin_vars.h>
#include <stdint.h>

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
