// The instructions of a warp that CUDA had before 9.0, for all lanes.

#define __any(condition) __any_sync(~0u, condition)
#define __shfl(...) __shfl_sync(~0u, __VA_ARGS__)
#define __shfl_down(...) __shfl_down_sync(~0u, __VA_ARGS__)
