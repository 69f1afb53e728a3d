/* emul_task.c -- task.h in virtual time. See emulator.h for how workers wait. */
#include <errno.h>
#include <stdlib.h>

#include "backends/emulator.h"

/* task.h declares these per target; here they get the emulated copy's names. */
struct task {
    struct worker *worker;
};
int task_start_emul(struct task **t, void (*fn)(void *arg), void *arg, int core);
void task_join_emul(struct task *t);
int task_wait_emul(uint32_t *word, uint32_t expected, uint64_t ns);
int task_wake_emul(uint32_t *word, int count);
uint64_t task_now_emul(void);

/* An hour and more of simulated time is for ever: clocks have 56 bits of picoseconds. */
#define LIMIT_NS_MAX (UINT64_C(3600) * 1000000000)

static const struct pm_site wait_site = {__FILE__, "task_wait", __LINE__};

int task_start_emul(struct task **t, void (*fn)(void *arg), void *arg, int core)
{
    if (!emulator.alive) /* no run is under way that the task could be a part of */
        return -EAGAIN;
    struct task *task = malloc(sizeof *task);
    if (!task)
        return -EAGAIN;
    task->worker = emulator_new_worker(core);
    if (!task->worker) {
        free(task);
        return -EAGAIN;
    }
    task->worker->task_fn = fn;
    task->worker->arg = arg;
    const uint64_t now = core_now(emulator.self->core);
    if (core_now(task->worker->core) < now)
        task->worker->core->now_ps = now;
    emulator_push(task->worker, core_now(task->worker->core));
    *t = task;
    return 0;
}

void task_join_emul(struct task *t)
{
    struct worker *self = emulator.self;
    if (t->worker->state != WORKER_DONE) {
        self->state = WORKER_SLEEPING;
        self->joins = t->worker;
        emulator_sleep();
    }
    t->worker->state = WORKER_UNUSED;
    free(t);
}

int task_wait_emul(uint32_t *word, uint32_t expected, uint64_t ns)
{
    struct worker *self = emulator.self;
    emul_load(word, sizeof *word, &wait_site);
    core_use(self->core);
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != expected)
        return -EAGAIN;
    self->state = WORKER_SLEEPING;
    self->word = word;
    self->timed_out = false;
    if (ns < LIMIT_NS_MAX)
        emulator_push(self, core_now(self->core) + ns * 1000);
    emulator_sleep();
    return self->timed_out ? -ETIMEDOUT : 0;
}

int task_wake_emul(uint32_t *word, int count)
{
    const uint64_t now = core_now(emulator.self->core);
    int woken = 0;
    emulator.idle_pauses = 0;
    for (int i = 0; i < EMULATOR_WORKERS && woken < count; i++) {
        struct worker *w = &emulator.workers[i];
        if (w->state != WORKER_SLEEPING || w->word != word)
            continue;
        emulator_remove(w); /* where its time limit waits, if it has one */
        w->state = WORKER_READY;
        w->word = NULL;
        if (core_now(w->core) < now)
            w->core->now_ps = now;
        emulator_push(w, core_now(w->core));
        woken++;
    }
    return woken;
}

uint64_t task_now_emul(void)
{
    return core_now(emulator.self->core) / 1000;
}
