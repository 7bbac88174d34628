// GPUVerify's annotations for nvcc: a thread that violates a precondition ends, and the other annotations have no effect.

#include <cooperative_groups.h>

typedef unsigned int uint;

#define __requires(...) ((__VA_ARGS__) ? (void)0 : __trap())
#define __assume(...) __requires(__VA_ARGS__)
#define __requires_fresh_array(...) ((void)0)
#define __assert(...) ((void)0)
#define __ensures(...) ((void)0)
#define __invariant(...) ((void)0)
#define __global_invariant(...) ((void)0)
#define __axiom(...) static_assert(true)

// Facts about the other threads and about the analysis, in preconditions.
#define __implies(condition, consequence) (!(condition) || (consequence))
#define __enabled() true
#define __distinct_int(...) true
#define __uniform_bool(...) true
#define __read_implies(...) true
#define __write_implies(...) true
#define __ptr_offset_bytes(...) 0u

// The barrier of a group before CUDA named it `sync`.
template <class Group> __device__ void synchronize(const Group &group) { group.sync(); }
