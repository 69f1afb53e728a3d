/* emul_sched.c -- virtual time: whose clock is smallest goes next. See emulator.h. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/emulator.h"

enum { IDLE_PAUSES_MAX = 20 * 1000 * 1000 }; /* a fifth of a simulated second, or more */

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

/* ---- the heap ------------------------------------------------------------------------------ */

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

/* ---- switching ----------------------------------------------------------------------------- */

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
    if (!emulator.heap_count || emulator_key(self) <= emulator.heap[0])
        return;
    struct worker *next = &emulator.workers[emulator.heap[0] & 0xff];
    if (next->state == WORKER_SLEEPING) {
        next = pop();
        emulator_push(self, core_now(self->core));
    } else { /* in one step: take its place at the root */
        emulator.heap[0] = emulator_key(self);
        sift_down(0);
        emulator_set_next();
    }
    switch_to(next); /* returns when our key was the smallest */
}

static void leave_for_control(void)
{
    struct worker *self = emulator.self;
    emulator.self = &emulator.workers[0];
    fiber_switch(self->fiber, emulator.control);
}

/* ---- deadlock ------------------------------------------------------------------------------ */

/* "pool + 0x40": what stays the same from run to run. */
static const char *place(const void *p, char *text, size_t size)
{
    const uint64_t offset = (uint64_t)((const char *)p - emulator.arena->base);
    const uint64_t dram = emulator.arena->volatile_at;
    if (offset < dram)
        snprintf(text, size, "pool + 0x%llx", (unsigned long long)offset);
    else
        snprintf(text, size, "volatile + 0x%llx", (unsigned long long)(offset - dram));
    return text;
}

/* "worker 3 sleeps on pool + 0x40"; 0: it waits for nothing. */
static int describe_worker(const struct worker *w, char *text, size_t size)
{
    char at[64];
    if (w->state == WORKER_SLEEPING && w->joins)
        return snprintf(text, size, " worker %d joins worker %d;", w->number, w->joins->number);
    if (w->state == WORKER_SLEEPING)
        return snprintf(text, size, " worker %d sleeps on %s;", w->number,
                        place(w->word, at, sizeof at));
    if (w->state != WORKER_READY || !w->pause_site)
        return 0;
    const char *word = w->pause_word ? place(w->pause_word, at, sizeof at) : "nothing it loaded";
    return snprintf(text, size, " worker %d waits at %s:%d for %s;", w->number, w->pause_site->file,
                    w->pause_site->line, word);
}

/* Who waits for what; as many as there is room for. */
static void describe_stuck(char why[BACKEND_WHY_MAX])
{
    int used = snprintf(why, BACKEND_WHY_MAX, "deadlock among simulated threads:");
    int untold = 0;
    for (int i = 0; i < EMULATOR_WORKERS; i++) {
        char text[192];
        const int length = describe_worker(&emulator.workers[i], text, sizeof text);
        if (length <= 0)
            continue;
        if (used + length + 24 > BACKEND_WHY_MAX || length >= (int)sizeof text)
            untold++;
        else
            used += snprintf(why + used, (size_t)(BACKEND_WHY_MAX - used), "%s", text);
    }
    if (untold)
        snprintf(why + used, (size_t)(BACKEND_WHY_MAX - used), " and %d more", untold);
    else
        why[used - 1] = '\0'; /* the last semicolon */
}

/* Reports and leaves the run for good. */
static void stuck(void)
{
    describe_stuck(emulator.why);
    if (!emulator.self->fiber) {
        fprintf(stderr, "pmtwin: %s\n", emulator.why);
        abort(); /* outside a run there is nobody to hand the report to */
    }
    emulator.deadlock = true;
    leave_for_control();
}

/* A mark of a long wait: did everybody who is awake do nothing but wait since the last one? */
static bool all_wait(void)
{
    bool all = true;
    for (int i = 0; i < EMULATOR_WORKERS; i++) {
        struct worker *w = &emulator.workers[i];
        if (w->state == WORKER_READY && !w->pause_site)
            all = false; /* it computes, or reads */
    }
    for (int i = 0; i < emulator.heap_count; i++)
        if (emulator.workers[emulator.heap[i] & 0xff].state == WORKER_SLEEPING)
            all = false; /* its time will come */
    return all;
}

void emulator_count_pause(void)
{
    if (++emulator.idle_pauses % (IDLE_PAUSES_MAX / 2))
        return;
    if (emulator.idle_pauses >= IDLE_PAUSES_MAX && all_wait())
        stuck();
    for (int i = 0; i < EMULATOR_WORKERS; i++)
        emulator.workers[i].pause_site = NULL;
}

void emulator_sleep(void)
{
    if (!emulator.heap_count)
        stuck();
    switch_to(pop());
}

/* ---- workers ------------------------------------------------------------------------------- */

static void worker_main(void *arg)
{
    struct worker *w = arg;
    if (w->task_fn)
        w->task_fn(w->arg);
    else
        w->fn(w->arg, w->number);
    core_use(w->core); /* its last loads have arrived */
    w->state = WORKER_DONE;
    emulator.alive--;
    for (int i = 0; i < EMULATOR_WORKERS; i++) { /* who joins us */
        struct worker *other = &emulator.workers[i];
        if (other->state == WORKER_SLEEPING && other->joins == w) {
            other->state = WORKER_READY;
            other->joins = NULL;
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

/* A worker nobody needs: unused, or ended and not a task that somebody will join. */
static struct worker *spare_worker(void)
{
    for (int i = 0; i < EMULATOR_WORKERS; i++) {
        struct worker *w = &emulator.workers[i];
        if (w->state == WORKER_UNUSED || (w->state == WORKER_DONE && !w->task_fn))
            return w;
    }
    return NULL;
}

struct worker *emulator_new_worker(int core)
{
    struct worker *w = spare_worker();
    if (!w)
        return NULL;
    for (int i = 0; core < 0 && i < emulator.cores; i++) {
        const int candidate = (emulator.core_first + i) % emulator.cores;
        if (!core_in_use(model_core(emulator.model, candidate)))
            core = candidate;
    }
    if (core < 0 || core >= emulator.cores)
        return NULL;
    if (core_in_use(model_core(emulator.model, core)))
        emulator.cores_shared = true;
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
    emulator.cores_shared = false;
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

    *elapsed_ps = align_clocks() - start; /* so that words after the run are in nobody's past */
    reset_workers();
    if (!emulator.deadlock)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "%s", emulator.why);
    return -EDEADLK;
}
