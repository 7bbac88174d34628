// Launches the kernel KERNEL of the file SOURCE. The standard input has words: blocks, threads, the number of
// arguments; and for each argument 0 and a word, or 1, a length and words of memory, or 2 and a length of zeros. The
// standard output gets the contents of all memories of kind 1.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include SOURCE

#ifdef __SANITIZE_THREAD__
void *__tsan_create_fiber(unsigned);
void *__tsan_get_current_fiber(void);
void __tsan_switch_to_fiber(void *, unsigned);
#else
static void *__tsan_create_fiber(unsigned flags) { return NULL; }
static void *__tsan_get_current_fiber(void) { return NULL; }
static void __tsan_switch_to_fiber(void *fiber, unsigned flags) {}
#endif

enum { STACK = 1 << 18, MOST_ARGUMENTS = 5, MOST_THREADS = 64 };

uint32_t host_blocks, host_threads;
_Thread_local uint32_t host_block, host_thread;

static uintptr_t arguments[MOST_ARGUMENTS];

struct coroutine {
  ucontext_t context;
  void *fiber;
  int ended;
};

static _Thread_local struct coroutine coroutines[MOST_THREADS], scheduler;

static void enter(struct coroutine *from, struct coroutine *to) {
  __tsan_switch_to_fiber(to->fiber, 0);
  swapcontext(&from->context, &to->context);
}

void host_barrier(void) {
  uint32_t self = host_thread;
  enter(&coroutines[self], &scheduler);
  host_thread = self;
}

static void run(void) {
  uint32_t self = host_thread;
  // Words and addresses are passed in the same way, and surplus arguments are harmless.
  void (*kernel)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t) = (void *)KERNEL;
  kernel(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
  coroutines[self].ended = 1;
  enter(&coroutines[self], &scheduler);
}

static void *run_block(void *index) {
  host_block = (uintptr_t)index;
  scheduler.fiber = __tsan_get_current_fiber();
  for (host_thread = 0; host_thread < host_threads; ++host_thread) {
    struct coroutine *new = &coroutines[host_thread];
    getcontext(&new->context);
    new->context.uc_stack.ss_sp = malloc(STACK);
    new->context.uc_stack.ss_size = STACK;
    new->fiber = __tsan_create_fiber(0);
    makecontext(&new->context, run, 0);
  }
  // Every coroutine reaches a barrier or its end before any coroutine continues.
  for (uint32_t running = host_threads; running != 0;) {
    running = 0;
    for (host_thread = 0; host_thread < host_threads; ++host_thread) {
      uint32_t next = host_thread;
      if (!coroutines[next].ended)
        enter(&scheduler, &coroutines[next]);
      host_thread = next;
      running += !coroutines[next].ended;
    }
  }
  return NULL;
}

static uint32_t word(void) {
  uint32_t word;
  if (fread(&word, sizeof word, 1, stdin) != 1)
    exit(2);
  return word;
}

int main(void) {
  host_blocks = word();
  host_threads = word();
  uint32_t count = word(), lengths[MOST_ARGUMENTS] = {0};
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t kind = word(), number = word();
    if (kind != 1) {
      arguments[i] = kind == 0 ? number : (uintptr_t)calloc(number, 4);
      continue;
    }
    lengths[i] = number;
    arguments[i] = (uintptr_t)malloc(4 * lengths[i]);
    if (fread((void *)arguments[i], 4, lengths[i], stdin) != lengths[i])
      return 2;
  }
  pthread_t *running = malloc(host_blocks * sizeof *running);
  for (uintptr_t i = 0; i < host_blocks; ++i)
    pthread_create(&running[i], NULL, run_block, (void *)i);
  for (uint32_t i = 0; i < host_blocks; ++i)
    pthread_join(running[i], NULL);
  for (uint32_t i = 0; i < count; ++i)
    fwrite((void *)arguments[i], 4, lengths[i], stdout);
  return 0;
}
