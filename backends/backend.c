/* backend.c -- choosing a backend by its word, real threads, and the measured window. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/backend_face.h"
#include "backends/bus.h"
#include "backends/native.h"
#include "backends/pool_file.h"

static const struct backend_ops *const kinds[] = {&backend_emul_ops, &backend_dram_ops,
                                                  &backend_pmem_ops};

static double host_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Splits "kind:detail"; *detail is NULL when there is none. */
static int find_kind(const char *spec, const struct backend_ops **ops, const char **detail,
                     char why[BACKEND_WHY_MAX])
{
    const char *colon = strchr(spec, ':');
    const size_t length = colon ? (size_t)(colon - spec) : strlen(spec);
    *detail = colon ? colon + 1 : NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i]->kind) != length || strncmp(kinds[i]->kind, spec, length) != 0)
            continue;
        *ops = kinds[i];
        if (*detail && !kinds[i]->takes_detail) {
            snprintf(why, BACKEND_WHY_MAX, "backend '%s' takes nothing after the colon",
                     kinds[i]->kind);
            return -EINVAL;
        }
        return 0;
    }
    snprintf(why, BACKEND_WHY_MAX,
             "there is no backend '%.*s'; it is emul[:PROFILE], dram or pmem:PATH", (int)length,
             spec);
    return -EINVAL;
}

int backend_check(const char *spec, const struct backend_options *options,
                  char why[BACKEND_WHY_MAX])
{
    const struct backend_ops *ops;
    const char *detail;
    int error = find_kind(spec, &ops, &detail, why);
    if (!error)
        error = ops->check(detail, options, why);
    return error || !options->pool_path ? error
                                        : pool_file_check(options->pool_path, options, why);
}

int backend_open(struct backend **out, const char *spec, const struct backend_options *options,
                 char why[BACKEND_WHY_MAX])
{
    const struct backend_ops *ops;
    const char *detail;
    int error = find_kind(spec, &ops, &detail, why);
    if (!error)
        error = ops->check(detail, options, why);
    if (error)
        return error;
    struct backend *b = calloc(1, sizeof *b);
    if (!b) {
        snprintf(why, BACKEND_WHY_MAX, "no memory for a backend");
        return -ENOMEM;
    }
    b->ops = ops;
    error = ops->map(b, detail, options, why);
    if (error) {
        free(b);
        return error;
    }
    error = ops->open(b, detail, options, why);
    if (error) {
        arena_close(&b->arena);
        free(b);
        return error;
    }
    *out = b;
    return 0;
}

void backend_close(struct backend *b)
{
    b->ops->close(b);
    arena_close(&b->arena);
    free(b);
}

const struct backend_info *backend_info(const struct backend *b)
{
    return &b->info;
}

int backend_facts(const struct backend *b, const struct machine_fact **facts)
{
    *facts = b->facts;
    return b->fact_count;
}

int backend_restart(struct backend *b, char why[BACKEND_WHY_MAX])
{
    arena_wipe_volatile(&b->arena);
    return b->ops->restart ? b->ops->restart(b, why) : 0;
}

struct pm_region *backend_pool(struct backend *b)
{
    return &b->arena.pool;
}

struct pm_region *backend_volatile(struct backend *b)
{
    return &b->arena.dram;
}

/* ---- real threads -------------------------------------------------------------------------- */

struct crew {
    struct backend *backend;
    void (*worker)(void *arg, int self);
    void *arg;
    pthread_mutex_t creation; /* held until all threads are there, or it is known that they won't */
    bool abandoned;
    pthread_barrier_t barrier;
    int threads, cpus;
    int cpu[CPU_SETSIZE]; /* that we may run on */
};

struct hand {
    struct crew *crew;
    pthread_t thread;
    int self;
    double start, end;
};

static void hand_work(void *arg)
{
    const struct hand *h = arg;
    h->crew->worker(h->crew->arg, h->self);
}

static void *hand_main(void *arg)
{
    struct hand *h = arg;
    struct crew *c = h->crew;
    pthread_mutex_lock(&c->creation);
    const bool abandoned = c->abandoned;
    pthread_mutex_unlock(&c->creation);
    if (abandoned)
        return NULL;
    if (c->threads <= c->cpus) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(c->cpu[h->self], &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    native_self = h->self;
    native_counts = (struct native_counts){0};
    pthread_barrier_wait(&c->barrier);
    h->start = host_now();
    bus_run(hand_work, h);
    h->end = host_now();
    struct counted *sum = &c->backend->counted;
    __atomic_fetch_add(&sum->flush_lines, native_counts.flush_lines, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->stream_lines, native_counts.stream_lines, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->fences, native_counts.fences, __ATOMIC_RELAXED);
    return NULL;
}

static void find_cpus(struct crew *c)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            c->cpu[c->cpus++] = i;
}

/* All threads or none: 0, or -EAGAIN when the system has no more. */
static int start_hands(struct crew *crew, struct hand *hands)
{
    int started = 0;
    pthread_mutex_lock(&crew->creation);
    for (; started < crew->threads; started++) {
        hands[started] = (struct hand){.crew = crew, .self = started};
        if (pthread_create(&hands[started].thread, NULL, hand_main, &hands[started]) != 0)
            break;
    }
    crew->abandoned = started < crew->threads;
    pthread_mutex_unlock(&crew->creation);
    if (!crew->abandoned)
        return 0;
    while (started--)
        pthread_join(hands[started].thread, NULL);
    return -EAGAIN;
}

/* From the first one's start to the last one's end. */
static uint64_t await_hands(struct hand *hands, int threads)
{
    double first = 0, last = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(hands[i].thread, NULL);
        if (i == 0 || hands[i].start < first)
            first = hands[i].start;
        if (hands[i].end > last)
            last = hands[i].end;
    }
    return (uint64_t)((last - first) * 1e12);
}

int backend_run_native(struct backend *b, int threads, void (*worker)(void *arg, int self),
                       void *arg, uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX])
{
    struct crew *crew = calloc(1, sizeof *crew);
    struct hand *hands = calloc((size_t)threads, sizeof *hands);
    int error = crew && hands ? 0 : -EAGAIN;
    if (!error) {
        *crew = (struct crew){.backend = b, .worker = worker, .arg = arg, .threads = threads};
        find_cpus(crew);
        pthread_mutex_init(&crew->creation, NULL);
        pthread_barrier_init(&crew->barrier, NULL, (unsigned)threads);
        error = start_hands(crew, hands);
        if (!error)
            *elapsed_ps = await_hands(hands, threads);
        pthread_barrier_destroy(&crew->barrier);
        pthread_mutex_destroy(&crew->creation);
    }
    if (error)
        snprintf(why, BACKEND_WHY_MAX, "the system has no %d threads to give; use fewer --threads",
                 threads);
    free(crew);
    free(hands);
    return error;
}

struct emulated {
    struct backend *b;
    int threads;
    void (*worker)(void *arg, int self);
    void *arg;
    uint64_t *elapsed_ps;
    char *why;
    int error;
};

static void emulated_work(void *arg)
{
    struct emulated *e = arg;
    e->error = e->b->ops->run(e->b, e->threads, e->worker, e->arg, e->elapsed_ps, e->why);
}

static int run_emulated(struct backend *b, int threads, void (*worker)(void *arg, int self),
                        void *arg, uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX])
{
    struct emulated e = {b, threads, worker, arg, elapsed_ps, why, 0};
    return bus_run(emulated_work, &e) ? e.error : -EIO;
}

int backend_run(struct backend *b, enum target target, int threads,
                void (*worker)(void *arg, int self), void *arg, char why[BACKEND_WHY_MAX])
{
    if (threads < 1 || threads > NATIVE_NUMBERS) {
        snprintf(why, BACKEND_WHY_MAX, "%d threads: 1 to %d can run", threads, NATIVE_NUMBERS);
        return -EINVAL;
    }
    uint64_t elapsed = 0;
    int error;
    if (arena_lost(&b->arena, why))
        return -EIO;
    if (target == TARGET_EMUL)
        error = run_emulated(b, threads, worker, arg, &elapsed, why);
    else
        error = backend_run_native(b, threads, worker, arg, &elapsed, why);
    if (arena_lost(&b->arena, why))
        error = -EIO;
    if ((target == TARGET_EMUL) == b->info.emulated) /* host time is no part of virtual time */
        b->elapsed_ps += elapsed;
    return error;
}

/* ---- the measured window ------------------------------------------------------------------- */

void window_known(struct window *w, const char *name, uint64_t value, const char *source)
{
    w->counters[w->counter_count++] =
        (struct counter){.name = name, .value = value, .source = source};
}

void window_unknown(struct window *w, const char *name, const char *reason)
{
    w->counters[w->counter_count++] = (struct counter){.name = name, .reason = reason};
}

void backend_begin(struct backend *b, enum pass pass)
{
    b->pass = pass;
    b->ops->begin(b);
    b->counted = (struct counted){0};
    b->elapsed_ps = 0;
    b->host_start = host_now();
}

void backend_end(struct backend *b, struct window *window)
{
    *window = (struct window){.elapsed_ps = b->elapsed_ps,
                              .host_seconds = host_now() - b->host_start};
    b->ops->end(b, window);
}

uint64_t backend_now_ps(const struct backend *b)
{
    return b->ops->now_ps(b);
}

uint64_t backend_done_ps(const struct backend *b)
{
    return b->ops->done_ps(b);
}

int backend_trace(struct backend *b, void (*hook)(void *arg, const struct backend_event *e),
                  void *arg)
{
    return b->ops->trace ? b->ops->trace(b, hook, arg) : -ENOTSUP;
}
