/* trace_hash.c -- a plain program: fibers work here, and an ESH run makes this event stream.
 *
 *     trace_hash           prints one line: the number of events, and a hash of what they say. Not
 *                          their source lines: compilers number a word over two lines differently
 *
 * check_aarch64.sh compares the line between processors; build it with ThreadSanitizer or without
 * Criterion where the test framework does not run. Exit 1: something does not hold, said on stderr.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/backend.h"
#include "backends/fiber.h"
#include "core/pool.h"
#include "core/store.h"

extern const struct store_ops esh_emul;
extern const struct pool_ops pool_emul;

enum { MIB = 1 << 20, WORKERS = 8, RECORDS = 4000, SWITCHES = 100000 };

struct trace {
    uint64_t hash, events;
};

struct job {
    struct store *store;
    int failures;
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "trace_hash: %s: %s\n", what, why);
    exit(1);
}

static void mix_in(struct trace *t, uint64_t value)
{
    t->hash = (t->hash ^ value) * UINT64_C(0x100000001b3);
    t->hash ^= t->hash >> 29;
}

static void note(void *arg, const struct backend_event *e)
{
    struct trace *t = arg;
    t->events++;
    mix_in(t, (uint64_t)e->worker << 32 | (uint64_t)e->kind);
    mix_in(t, e->offset);
    mix_in(t, e->size);
    mix_in(t, e->start_ps);
    mix_in(t, e->clock_ps);
    mix_in(t, e->done_ps);
    mix_in(t, e->media_reads << 32 | e->media_writes);
}

static void work(void *arg, int self)
{
    struct job *job = arg;
    for (uint64_t i = 0; i < RECORDS; i++) {
        const uint64_t key = i * WORKERS + (uint64_t)self;
        uint64_t value = 0;
        job->failures += esh_emul.insert(job->store, key, ~key) != 0;
        job->failures += esh_emul.get(job->store, key / 2, &value) == 0 && value != ~(key / 2);
    }
}

static struct fiber *fibers[2];

static void answer(void *arg)
{
    for (int *count = arg;; ++*count)
        fiber_switch(fibers[1], fibers[0]);
}

static void check_fibers(void)
{
    int count = 0;
    double product = 1;
    fibers[0] = fiber_adopt();
    fibers[1] = fiber_create(answer, &count);
    for (int i = 0; i < SWITCHES; i++) {
        product *= 1.0001; /* in a register that the switch must keep */
        fiber_switch(fibers[0], fibers[1]);
        product /= 1.0001;
    }
    if (count != SWITCHES - 1 || product < 0.999 || product > 1.001)
        fail("fibers", "a switch lost something");
    fiber_destroy(fibers[1]);
    fiber_destroy(fibers[0]);
}

int main(void)
{
    const struct backend_options options = {.pool_bytes = 64 * MIB,
                                            .volatile_bytes = 64 * MIB,
                                            .threads = WORKERS,
                                            .node = -1,
                                            .memory_node = -1,
                                            .seed = 1};
    char why[BACKEND_WHY_MAX] = "";
    struct store_config config = {.fixed = true};
    for (int i = 0; esh_emul.parameters[i].name; i++)
        config.parameters[i] = esh_emul.parameters[i].value;
    struct trace trace = {0};
    struct job job = {0};
    struct backend *b;
    struct pool pool;

    check_fibers();
    if (backend_open(&b, "emul:optane-100", &options, why) != 0)
        fail("backend", why);
    if (pool_emul.create(&pool, backend_pool(b), backend_volatile(b), why) != 0)
        fail("pool", why);
    if (esh_emul.create(&job.store, &pool, &config) != 0)
        fail("esh", "cannot be made");
    backend_trace(b, note, &trace);
    if (backend_run(b, TARGET_EMUL, WORKERS, work, &job, why) != 0)
        fail("run", why);
    if (job.failures)
        fail("esh", "a wrong answer");
    printf("%" PRIu64 " events, hash %016" PRIx64 "\n", trace.events, trace.hash);
    esh_emul.close(job.store);
    pool_emul.close(&pool);
    backend_close(b);
    return 0;
}
