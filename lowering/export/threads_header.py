"""`stepwell_threads.h`: threads for the pool of exported models, as C for POSIX systems and Windows."""

THREADS_HEADER = """\
/* Threads for the pool of models that stepwell exported: needs a threads library (-pthread).
   Include it after a model's header, in one file of a program. */
#ifndef STEPWELL_THREADS_H
#define STEPWELL_THREADS_H
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h> /* link Synchronization.lib */
typedef HANDLE stepwell_thread;
static inline void stepwell_threads_wait(const int32_t *word, int32_t value) {
  WaitOnAddress((volatile VOID *)(uintptr_t)word, &value, sizeof value, INFINITE);
}
static inline void stepwell_threads_wake(const int32_t *word, int32_t count) {
  (void)count;
  WakeByAddressAll((PVOID)(uintptr_t)word);
}
static inline void stepwell_threads_yield(void) { SwitchToThread(); }
static inline DWORD WINAPI stepwell_threads_run(LPVOID pool) {
  stepwell_pool_worker((stepwell_pool *)pool);
  return 0;
}
static inline int stepwell_threads_new(stepwell_thread *thread, stepwell_pool *pool) {
  *thread = CreateThread(NULL, 0, stepwell_threads_run, pool, 0, NULL);
  return *thread == NULL;
}
static inline void stepwell_threads_join(stepwell_thread thread) {
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}
#else
#include <pthread.h>
#include <sched.h>
typedef pthread_t stepwell_thread;
static pthread_mutex_t stepwell_threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stepwell_threads_changed = PTHREAD_COND_INITIALIZER;
/* A pool changes a word before it wakes: who looks at it under the mutex misses no change. */
static inline void stepwell_threads_wait(const int32_t *word, int32_t value) {
  pthread_mutex_lock(&stepwell_threads_mutex);
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
    pthread_cond_wait(&stepwell_threads_changed, &stepwell_threads_mutex);
  pthread_mutex_unlock(&stepwell_threads_mutex);
}
static inline void stepwell_threads_wake(const int32_t *word, int32_t count) {
  (void)word;
  (void)count;
  pthread_mutex_lock(&stepwell_threads_mutex);
  pthread_cond_broadcast(&stepwell_threads_changed);
  pthread_mutex_unlock(&stepwell_threads_mutex);
}
static inline void stepwell_threads_yield(void) { sched_yield(); }
static inline void *stepwell_threads_run(void *pool) {
  stepwell_pool_worker((stepwell_pool *)pool);
  return NULL;
}
static inline int stepwell_threads_new(stepwell_thread *thread, stepwell_pool *pool) {
  return pthread_create(thread, NULL, stepwell_threads_run, pool);
}
static inline void stepwell_threads_join(stepwell_thread thread) { pthread_join(thread, NULL); }
#endif

/* In memory before the pool, which begins at a cache line. */
typedef struct {
  void *memory;
  int count;
  stepwell_thread threads[1];
} stepwell_threads;

static inline void stepwell_threads_stop(stepwell_pool *pool) {
  stepwell_threads *all;
  int i;
  if (pool == NULL) return;
  memcpy(&all, (char *)pool + STEPWELL_POOL_BYTES, sizeof all);
  stepwell_pool_stop(pool);
  for (i = 0; i < all->count; i++) stepwell_threads_join(all->threads[i]);
  free(all->memory);
  free(all);
}

/* A pool of n threads, the one that calls a model among them; NULL: there is no memory, or no thread. */
static inline stepwell_pool *stepwell_threads_start(int n) {
  stepwell_threads *all;
  stepwell_pool *pool;
  if (n < 1 || n > 256) return NULL;
  all = (stepwell_threads *)calloc(1, sizeof *all + (size_t)n * sizeof(stepwell_thread));
  if (all == NULL) return NULL;
  all->memory = calloc(1, STEPWELL_POOL_BYTES + sizeof all + 64);
  if (all->memory == NULL) {
    free(all);
    return NULL;
  }
  pool = (stepwell_pool *)(void *)((char *)all->memory + (64 - (uintptr_t)all->memory % 64) % 64);
  stepwell_pool_init(pool, STEPWELL_POOL_BYTES, n);
  memcpy((char *)pool + STEPWELL_POOL_BYTES, &all, sizeof all);
  stepwell_pool_hooks(pool, stepwell_threads_wait, stepwell_threads_wake, stepwell_threads_yield);
  for (; all->count < n - 1; all->count++) {
    if (stepwell_threads_new(&all->threads[all->count], pool) != 0) {
      stepwell_threads_stop(pool);
      return NULL;
    }
  }
  return pool;
}
#endif
"""
"""The text of the header."""
