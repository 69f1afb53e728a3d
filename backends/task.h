/* task.h -- threads and waiting, for code of core/ that has workers of its own.
 *
 *   task_start(&t, fn, arg, core)  runs fn(arg) as a task of its own. core: a core's number to share
 *                                  it, or TASK_OWN_CORE. 0, -EAGAIN (no core or thread is left).
 *   task_join(t)                   waits until fn has returned, then frees t.
 *   task_wait(word, expected, ns)  sleeps while *word == expected. 0 when woken (perhaps for no
 *                                  reason: check again), -EAGAIN when the word differed at once,
 *                                  -ETIMEDOUT after ns nanoseconds (TASK_FOREVER: never).
 *   task_wake(word, count)         wakes at most count sleepers on word; returns how many.
 *   task_now()                     nanoseconds since some fixed instant of this run.
 *
 * native, counted: pinned pthreads and futex. emul: fibers in virtual time; a sleeping fiber costs
 * no host time, and a set of tasks that all sleep for ever is reported as a deadlock with who waits
 * for what, never hung. A word is 32 bits, aligned, in any region.
 *
 * Threads: any task may call any of these.
 */
#ifndef BACKENDS_TASK_H
#define BACKENDS_TASK_H

#include "backends/pm.h"

#define TASK_OWN_CORE (-1)
#define TASK_FOREVER UINT64_MAX

struct task;

/* The counted copy waits as the native one does. */
#ifdef PM_TARGET
#if PM_KIND_ == PM_KIND_emul
#define TASK_EXPORT(name) __asm__(#name "_emul")
#else
#define TASK_EXPORT(name) __asm__(#name "_native")
#endif

int task_start(struct task **t, void (*fn)(void *arg), void *arg, int core) TASK_EXPORT(task_start);
void task_join(struct task *t) TASK_EXPORT(task_join);
int task_wait(uint32_t PM *word, uint32_t expected, uint64_t ns) TASK_EXPORT(task_wait);
int task_wake(uint32_t PM *word, int count) TASK_EXPORT(task_wake);
uint64_t task_now(void) TASK_EXPORT(task_now);
#endif

#endif
