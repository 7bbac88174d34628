// A replacement of clang's header. Blocks are threads of the host with thread-local shared memory, and the threads of a
// block are coroutines that switch at barriers (launch.c).
#pragma once
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#define __gpu_kernel
#define __gpu_local _Thread_local

extern uint32_t host_blocks, host_threads;
extern _Thread_local uint32_t host_block, host_thread;
void host_barrier(void);

#define __gpu_block_id_x() host_block
#define __gpu_num_blocks_x() host_blocks
#define __gpu_thread_id_x() host_thread
#define __gpu_num_threads_x() host_threads
#define __gpu_sync_threads() host_barrier()

// The orderings that a faulty compiler may lose.
#ifdef LOSE_ACQUIRE
#define memory_order_acquire memory_order_relaxed
#endif
#ifdef LOSE_RELEASE
#define memory_order_release memory_order_relaxed
#endif

// A waiting thread yields. The race detector does not support fences, so loads that a fence can follow acquire.
#undef atomic_load_explicit
#define atomic_load_explicit(pointer, order)                                                                                  \
  (sched_yield(), __atomic_load_n((uint32_t *)(pointer), (order) == __ATOMIC_RELAXED ? (int)memory_order_acquire : (int)(order)))
#undef atomic_exchange_explicit
#define atomic_exchange_explicit(pointer, value, order)                                                                       \
  (sched_yield(), __atomic_exchange_n((uint32_t *)(pointer), value, order))
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(pointer, value, order)                                                                      \
  (sched_yield(), __atomic_fetch_add((uint32_t *)(pointer), value, order))
#undef atomic_thread_fence
#define atomic_thread_fence(order) ((void)0)
