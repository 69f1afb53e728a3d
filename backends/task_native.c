/* task_native.c -- task.h on real threads: pthreads and futex. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/native.h"

/* task.h declares these per target; here they get the native copy's names. */
struct task {
    pthread_t thread;
    void (*fn)(void *arg);
    void *arg;
    int core, self;
};
int task_start_native(struct task **t, void (*fn)(void *arg), void *arg, int core);
void task_join_native(struct task *t);
int task_wait_native(uint32_t *word, uint32_t expected, uint64_t ns);
int task_wake_native(uint32_t *word, int count);
uint64_t task_now_native(void);

static void *task_main(void *arg)
{
    struct task *t = arg;
    native_self = t->self;
    if (t->core >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(t->core, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one); /* a wish: it may be refused */
    }
    t->fn(t->arg);
    return NULL;
}

int task_start_native(struct task **t, void (*fn)(void *arg), void *arg, int core)
{
    struct task *task = malloc(sizeof *task);
    if (!task)
        return -EAGAIN;
    const int self = native_take_number();
    *task = (struct task){.fn = fn, .arg = arg, .core = core, .self = self};
    if (self < 0 || pthread_create(&task->thread, NULL, task_main, task) != 0) {
        if (self >= 0)
            native_give_number(self);
        free(task);
        return -EAGAIN;
    }
    *t = task;
    return 0;
}

void task_join_native(struct task *t)
{
    pthread_join(t->thread, NULL);
    native_give_number(t->self);
    free(t);
}

int task_wait_native(uint32_t *word, uint32_t expected, uint64_t ns)
{
    const struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000),
                                   .tv_nsec = (long)(ns % 1000000000)};
    const long error = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
                               ns == UINT64_MAX ? NULL : &limit, NULL, 0);
    if (error == 0 || errno == EINTR)
        return 0;
    return errno == EAGAIN ? -EAGAIN : -ETIMEDOUT;
}

int task_wake_native(uint32_t *word, int count)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

uint64_t task_now_native(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
