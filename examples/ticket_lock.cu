// A ticket lock and a message-passing flag, through clang's scoped atomics. No CUDA headers are needed.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

// First come, first served. A thread takes a ticket and waits until it is served.
struct TicketLock {
  unsigned next;
  unsigned serving;

  __device__ unsigned lock() {
    unsigned ticket = __scoped_atomic_fetch_add(&next, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
    while (__scoped_atomic_load_n(&serving, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) != ticket) {
    }
    return ticket;
  }

  __device__ void unlock(unsigned ticket) {
    __scoped_atomic_store_n(&serving, ticket + 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
  }
};

// The first thread of each block adds to a plain counter under the lock.
extern "C" __global__ void count(TicketLock *lock, unsigned *counter) {
  if (__nvvm_read_ptx_sreg_tid_x() == 0) {
    unsigned ticket = lock->lock();
    *counter += 1;
    lock->unlock(ticket);
  }
}

// Thread 0 of the grid publishes a message; every other one waits for the flag and reads it.
extern "C" __global__ void pass_message(unsigned *flag, unsigned *message, unsigned *out) {
  unsigned index = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (index == 0) {
    *message = 42;
    __scoped_atomic_store_n(flag, 1u, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  } else {
    while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) == 0) {
    }
    out[index] = *message;
  }
}
