/* emul_sched.c -- virtual time: whose clock is smallest goes next. See emulator.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/emulator.h"

struct emulator emulator;

/* Ties go to the smaller number. 56 bits of picoseconds are twenty hours of simulated time. */
static uint64_t key_of(uint64_t clock_ps, int number)
{
    return clock_ps << 8 | (uint64_t)number;
}

uint64_t emulator_key(const struct worker *w)
{
    return key_of(core_now(w->core), w->number);
}

/* ---- the heap ------------------------------------------------------------------------------------- */

static void sift_up(int i)
{
    uint64_t *h = emulator.heap;
    const uint64_t key = h[i];
    for (; i && h[(i - 1) / 2] > key; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = key;
}

static void sift_down(int i)
{
    uint64_t *h = emulator.heap;
    const uint64_t key = h[i];
    for (;;) {
        int child = 2 * i + 1;
        if (child >= emulator.heap_count)
            break;
        if (child + 1 < emulator.heap_count && h[child + 1] < h[child])
            child++;
        if (h[child] >= key)
            break;
        h[i] = h[child];
        i = child;
    }
    h[i] = key;
}

void emulator_set_next(void)
{
    const uint64_t key = emulator.heap_count ? emulator.heap[0] : EMULATOR_NEVER;
    emulator.next_key = key;
    emulator.run_ahead_ps = key == EMULATOR_NEVER ? EMULATOR_NEVER : (key >> 8) + EMUL_RUN_AHEAD_PS;
}

void emulator_push(struct worker *w, uint64_t clock_ps)
{
    assert(emulator.heap_count < EMULATOR_WORKERS);
    emulator.heap[emulator.heap_count] = key_of(clock_ps, w->number);
    sift_up(emulator.heap_count++);
    emulator_set_next();
}

static void remove_at(int i)
{
    emulator.heap[i] = emulator.heap[--emulator.heap_count];
    if (i < emulator.heap_count) {
        sift_down(i);
        sift_up(i);
    }
    emulator_set_next();
}

void emulator_remove(struct worker *w)
{
    for (int i = 0; i < emulator.heap_count; i++)
        if ((int)(emulator.heap[i] & 0xff) == w->number) {
            remove_at(i);
            return;
        }
}

/* ---- switching ------------------------------------------------------------------------------------ */

static void switch_to(struct worker *to)
{
    struct worker *from = emulator.self;
    emulator.self = to;
    if (to != from)
        fiber_switch(from->fiber, to->fiber);
}

/* The first of the heap, ready to run. A sleeper comes out because its wait has timed out. */
static struct worker *pop(void)
{
    const uint64_t key = emulator.heap[0];
    struct worker *w = &emulator.workers[key & 0xff];
    remove_at(0);
    if (w->state == WORKER_SLEEPING) {
        w->state = WORKER_READY;
        w->timed_out = true;
        w->word = NULL;
        if (core_now(w->core) < key >> 8)
            w->core->now_ps = key >> 8;
    }
    return w;
}

void emulator_yield(void)
{
    struct worker *self = emulator.self;
    while (emulator.heap_count && emulator_key(self) > emulator.heap[0]) {
        struct worker *next = &emulator.workers[emulator.heap[0] & 0xff];
        if (next->state == WORKER_SLEEPING) {
            next = pop();
            emulator_push(self, core_now(self->core));
        } else { /* in one step: take its place at the root */
            emulator.heap[0] = emulator_key(self);
            sift_down(0);
            emulator_set_next();
        }
        switch_to(next);
    }
}

void emulator_sleep(void)
{
    if (!emulator.heap_count)
        emulator_stuck();
    switch_to(pop());
}

static void leave_for_control(void)
{
    struct worker *self = emulator.self;
    emulator.self = &emulator.workers[0];
    fiber_switch(self->fiber, emulator.control);
}

/* ---- deadlock --------------------------------------------------------------------------------------- */

const char *emulator_place(const void *p, char *text, size_t size)
{
    const uint64_t offset = (uint64_t)((const char *)p - emulator.arena->base);
    if (offset < ARENA_VOLATILE)
        snprintf(text, size, "pool + 0x%llx", (unsigned long long)offset);
    else
        snprintf(text, size, "volatile + 0x%llx", (unsigned long long)(offset - ARENA_VOLATILE));
    return text;
}

/* "worker 3 sleeps on pool + 0x40; worker 4 spins at core/lock.h:52" */
static void describe_stuck(char why[BACKEND_WHY_MAX])
{
    int used = snprintf(why, BACKEND_WHY_MAX, "deadlock among simulated threads:");
    for (int i = 0; i < EMULATOR_WORKERS && used < BACKEND_WHY_MAX - 1; i++) {
        const struct worker *w = &emulator.workers[i];
        char place[64];
        if (w->state == WORKER_SLEEPING)
            used += snprintf(why + used, (size_t)(BACKEND_WHY_MAX - used),
                             " worker %d sleeps on %s;", i, emulator_place(w->word, place, sizeof place));
        else if (w->state == WORKER_READY && w->site)
            used += snprintf(why + used, (size_t)(BACKEND_WHY_MAX - used),
                             " worker %d spins at %s:%d;", i, w->site->file, w->site->line);
    }
}

void emulator_stuck(void)
{
    describe_stuck(emulator.why);
    if (!emulator.control || !emulator.self->fiber) {
        fprintf(stderr, "pmtwin: %s\n", emulator.why);
        abort(); /* outside a run there is nobody to hand the report to */
    }
    emulator.deadlock = true;
    leave_for_control();
}

/* ---- workers ---------------------------------------------------------------------------------------- */

static void worker_main(void *arg)
{
    struct worker *w = arg;
    if (w->is_task)
        w->task_fn(w->arg);
    else
        w->fn(w->arg, w->number);
    core_use(w->core); /* its last loads have arrived */
    w->state = WORKER_DONE;
    emulator.alive--;
    for (int i = 0; i < EMULATOR_WORKERS; i++) { /* who joins us */
        struct worker *other = &emulator.workers[i];
        if (other->state == WORKER_SLEEPING && other->word == w) {
            other->state = WORKER_READY;
            other->word = NULL;
            const uint64_t now = core_now(w->core), own = core_now(other->core);
            other->core->now_ps = own > now ? own : now;
            emulator_push(other, core_now(other->core));
        }
    }
    if (emulator.alive)
        emulator_sleep();
    leave_for_control();
}

static bool core_in_use(const struct core *core)
{
    for (int i = 0; i < EMULATOR_WORKERS; i++)
        if (emulator.workers[i].core == core && (emulator.workers[i].state == WORKER_READY ||
                                                 emulator.workers[i].state == WORKER_SLEEPING))
            return true;
    return false;
}

struct worker *emulator_new_worker(int core)
{
    struct worker *w = NULL;
    for (int i = 0; i < EMULATOR_WORKERS && !w; i++)
        if (emulator.workers[i].state == WORKER_UNUSED || emulator.workers[i].state == WORKER_DONE)
            w = &emulator.workers[i];
    if (!w)
        return NULL;
    for (int i = 0; core < 0 && i < emulator.cores; i++) {
        const int candidate = (emulator.core_first + i) % emulator.cores;
        if (!core_in_use(model_core(emulator.model, candidate)))
            core = candidate;
    }
    if (core < 0 || core >= emulator.cores)
        return NULL;
    fiber_destroy(w->fiber);
    *w = (struct worker){.number = (int)(w - emulator.workers),
                         .core = model_core(emulator.model, core),
                         .state = WORKER_READY};
    w->fiber = fiber_create(worker_main, w);
    if (!w->fiber) {
        w->state = WORKER_UNUSED;
        return NULL;
    }
    emulator.alive++;
    return w;
}

static void reset_workers(void)
{
    for (int i = 0; i < EMULATOR_WORKERS; i++) {
        fiber_destroy(emulator.workers[i].fiber);
        emulator.workers[i] = (struct worker){.number = i};
    }
    emulator.workers[0].core = model_core(emulator.model, emulator.core_first);
    emulator.self = &emulator.workers[0];
    emulator.heap_count = emulator.alive = 0;
    emulator_set_next();
}

int emulator_open(struct model *model, const struct arena *arena, int core_first)
{
    assert(!emulator.model); /* one at a time */
    const struct profile *p = model_profile(model);
    emulator = (struct emulator){.model = model,
                                 .arena = arena,
                                 .core_first = core_first,
                                 .cores = (int)(p->sockets * p->cores)};
    emulator.control = fiber_adopt();
    if (!emulator.control) {
        emulator.model = NULL;
        return -ENOMEM;
    }
    reset_workers();
    return 0;
}

void emulator_close(void)
{
    for (int i = 0; i < EMULATOR_WORKERS; i++)
        fiber_destroy(emulator.workers[i].fiber);
    fiber_destroy(emulator.control);
    emulator = (struct emulator){0};
}

/* All cores start at the instant of the latest: nobody begins in another's past. */
static uint64_t align_clocks(void)
{
    uint64_t latest = 0;
    for (int i = 0; i < emulator.cores; i++) {
        core_use(model_core(emulator.model, i));
        const uint64_t now = core_now(model_core(emulator.model, i));
        latest = now > latest ? now : latest;
    }
    for (int i = 0; i < emulator.cores; i++)
        model_core(emulator.model, i)->now_ps = latest;
    return latest;
}

int emulator_run(int count, void (*fn)(void *arg, int self), void *arg, uint64_t *elapsed_ps,
                 char why[BACKEND_WHY_MAX])
{
    const uint64_t start = align_clocks();
    reset_workers();
    emulator.deadlock = false;
    emulator.idle_pauses = 0;
    for (int i = 0; i < count; i++) {
        struct worker *w = emulator_new_worker((emulator.core_first + i) % emulator.cores);
        if (!w) {
            reset_workers();
            snprintf(why, BACKEND_WHY_MAX, "no memory for %d simulated threads", count);
            return -ENOMEM;
        }
        w->fn = fn;
        w->arg = arg;
        emulator_push(w, start);
    }
    struct worker *first = pop();
    emulator.self = first;
    fiber_switch(emulator.control, first->fiber);

    const bool deadlock = emulator.deadlock;
    uint64_t end = start;
    for (int i = 0; i < emulator.cores; i++) {
        const uint64_t now = core_now(model_core(emulator.model, i));
        end = now > end ? now : end;
    }
    *elapsed_ps = end - start;
    reset_workers();
    if (deadlock)
        snprintf(why, BACKEND_WHY_MAX, "%s", emulator.why);
    return deadlock ? -EDEADLK : 0;
}
