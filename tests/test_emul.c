/* The emulator: whose turn it is, what an event says, deadlocks, regions and the residual. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/emul.h"
#include "backends/pm.h"
#include "backends/task.h"
#include "core/lock.h"

enum { MIB = 1 << 20, SOCKET_CORES = 24 };

static struct backend *open_on(const char *spec, int threads, int node)
{
    static const char *const sets[] = {"background=0"}; /* no media writes but what we cause */
    const struct backend_options options = {.profile_sets = sets,
                                            .profile_set_count = 1,
                                            .pool_bytes = 64 * MIB,
                                            .volatile_bytes = 64 * MIB,
                                            .threads = threads,
                                            .node = node,
                                            .memory_node = -1,
                                            .seed = 1};
    char why[BACKEND_WHY_MAX] = "";
    struct backend *b = NULL;
    const int error = backend_open(&b, spec, &options, why);
    cr_assert_eq(error, 0, "%s", why);
    return b;
}

static struct backend *open_emul(int threads)
{
    return open_on("emul:optane-100", threads, -1);
}

static void run(struct backend *b, int threads, void (*worker)(void *arg, int self), void *arg)
{
    char why[BACKEND_WHY_MAX] = "";
    const int error = backend_run(b, TARGET_EMUL, threads, worker, arg, why);
    cr_assert_eq(error, 0, "%s", why);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* ---- determinism and turns ----------------------------------------------------------------- */

static void hash_event(void *arg, const struct backend_event *e)
{
    uint64_t *hash = arg;
    const uint64_t facts[] = {(uint64_t)e->worker, (uint64_t)e->line, (uint64_t)e->kind, e->offset,
                              e->size,             e->start_ps,       e->clock_ps,       e->done_ps,
                              e->media_reads,      e->media_writes};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        *hash = (*hash ^ facts[i]) * UINT64_C(0x100000001b3);
    for (const char *c = e->stage; *c; c++)
        *hash = (*hash ^ (uint64_t)*c) * UINT64_C(0x100000001b3);
}

static void wander(void *arg, int self)
{
    struct backend *b = arg;
    uint64_t random = (uint64_t)self + 1;
    for (int i = 0; i < 3000; i++) {
        const uint64_t offset = next_random(&random) % (32 * MIB / 8) * 8;
        struct pm_region *region = i % 5 ? backend_pool(b) : backend_volatile(b);
        uint64_t PM *word = pm_at(region, offset);
        const uint64_t value = pm_load(word);
        if (i % 3 == 0) {
            pm_store(word, value + 1);
            pm_persist(word, 8);
        }
        if (i % 7 == 0)
            pm_fetch_add((uint64_t PM *)PM_NAKED_(word), 1);
    }
}

static uint64_t hash_of_a_run(void)
{
    struct backend *b = open_emul(8);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    backend_trace(b, hash_event, &hash);
    run(b, 8, wander, b);
    backend_close(b);
    return hash;
}

Test(emul, same_seed_gives_the_same_events)
{
    const uint64_t first = hash_of_a_run();
    cr_assert_eq(first, hash_of_a_run());
    cr_assert_neq(first, UINT64_C(0xcbf29ce484222325));
}

struct order {
    uint64_t clock_ps;
    int worker, misses;
    bool wrong;
};

static void check_order(void *arg, const struct backend_event *e)
{
    struct order *o = arg;
    if (strcmp(e->stage, "L1") == 0 || strcmp(e->stage, "L2") == 0 || e->size == 0)
        return;
    if (e->clock_ps < o->clock_ps || (e->clock_ps == o->clock_ps && e->worker <= o->worker))
        o->wrong = true;
    o->clock_ps = e->clock_ps;
    o->worker = e->worker;
    o->misses++;
}

/* Loads only: each costs the clock the same after its turn, so clocks show the order of turns. */
static void load_far_apart(void *arg, int self)
{
    struct backend *b = arg;
    uint64_t random = (uint64_t)self * 77 + 5;
    for (int i = 0; i < 2000; i++) {
        uint64_t PM *word = pm_at(backend_pool(b), next_random(&random) % (64 * MIB / 64) * 64);
        const uint64_t value = pm_load(word);
        cr_assert_eq(value, 0);
    }
}

Test(emul, the_smallest_clock_goes_first_and_ties_go_by_number)
{
    struct backend *b = open_emul(16);
    struct order order = {.worker = -1};
    backend_trace(b, check_order, &order);
    run(b, 16, load_far_apart, b);
    cr_assert(order.misses > 20000, "%d", order.misses);
    cr_assert_not(order.wrong);
    backend_close(b);
}

struct pace {
    struct backend *b;
    uint64_t clock_ps[2], lead_ps;
};

static void keep_pace(void *arg, int self)
{
    struct pace *p = arg;
    uint64_t PM *word = pm_at(backend_pool(p->b), (uint64_t)(self + 1) * 4096);
    for (int i = 0; i < 5000; i++) {
        const uint64_t value = pm_load(word);
        cr_assert_eq(value, 0);
        pm_work(self ? 400 : 1);
        const uint64_t now = backend_now_ps(p->b), other = p->clock_ps[!self];
        p->clock_ps[self] = now;
        if (self == 0 && other && now > other && now - other > p->lead_ps)
            p->lead_ps = now - other;
    }
    p->clock_ps[self] = UINT64_MAX; /* nobody waits for us any more */
}

Test(emul, hits_run_ahead_within_the_bound)
{
    struct pace p = {.b = open_emul(2)};
    run(p.b, 2, keep_pace, &p);
    cr_assert(p.lead_ps > 0);
    cr_assert(p.lead_ps <= EMUL_RUN_AHEAD_PS + 2000, "%lu ps", (unsigned long)p.lead_ps);
    backend_close(p.b);
}

/* ---- shared memory ------------------------------------------------------------------------- */

struct shared {
    struct backend *b;
    int rounds;
};

static void count_up(void *arg, int self)
{
    const struct shared *s = arg;
    uint64_t PM *words = pm_at(backend_volatile(s->b), 4096);
    (void)self;
    for (int i = 0; i < s->rounds; i++) {
        pm_fetch_add(&words[0], 1);
        lock_acquire(&words[8], 1);
        const uint64_t value = pm_load(&words[16]);
        pm_work(50);
        pm_store(&words[16], value + 1);
        lock_release(&words[8], 1);
    }
}

Test(emul, locks_and_atomics_count_right)
{
    struct shared s = {.b = open_emul(24), .rounds = 500};
    run(s.b, 24, count_up, &s);
    uint64_t PM *words = pm_at(backend_volatile(s.b), 4096);
    const uint64_t added = pm_load(&words[0]), locked = pm_load(&words[16]);
    cr_assert_eq(added, 24 * 500);
    cr_assert_eq(locked, 24 * 500);
    backend_close(s.b);
}

static void embrace(void *arg, int self)
{
    struct backend *b = arg;
    uint64_t PM *locks = pm_at(backend_pool(b), 8192);
    lock_acquire(&locks[self * 8], 1);
    pm_work(10000);
    lock_acquire(&locks[!self * 8], 1);
}

Test(emul, workers_that_wait_for_each_other_are_reported_by_name)
{
    struct backend *b = open_emul(2);
    char why[BACKEND_WHY_MAX] = "";
    cr_assert_eq(backend_run(b, TARGET_EMUL, 2, embrace, b, why), -EDEADLK);
    const char *first = strstr(why, "worker 0 waits at core/lock.h:");
    const char *second = strstr(why, "worker 1 waits at core/lock.h:");
    cr_assert(first && strstr(first, "for pool + 0x2040;"), "%s", why);
    cr_assert(second && strstr(second, "for pool + 0x2000"), "%s", why);
    run(b, 2, load_far_apart, b); /* the emulator goes on */
    backend_close(b);
}

static void sleep_for_ever(void *arg, int self)
{
    struct backend *b = arg;
    uint32_t PM *words = pm_at(backend_volatile(b), 256);
    task_wait(&words[self], 0, TASK_FOREVER);
}

Test(emul, sleepers_that_nobody_wakes_are_reported_by_name)
{
    struct backend *b = open_emul(3);
    char why[BACKEND_WHY_MAX] = "";
    cr_assert_eq(backend_run(b, TARGET_EMUL, 3, sleep_for_ever, b, why), -EDEADLK);
    cr_assert_str_eq(why, "deadlock among simulated threads: worker 0 sleeps on volatile + 0x100; "
                          "worker 1 sleeps on volatile + 0x104; worker 2 sleeps on volatile + 0x108");
    backend_close(b);
}

/* One spins, the other sleeps a simulated second first: long, but no deadlock. */
static void wait_long(void *arg, int self)
{
    struct backend *b = arg;
    uint32_t PM *flag = pm_at(backend_volatile(b), 512);
    uint32_t PM *word = pm_at(backend_volatile(b), 1024);
    if (self == 0) {
        cr_assert_eq(task_wait(word, 0, 400 * 1000 * 1000), -ETIMEDOUT);
        pm_store_release(flag, 1u);
        return;
    }
    for (;;) {
        const uint32_t value = pm_load_acquire(flag);
        if (value)
            return;
        pm_pause();
    }
}

Test(emul, a_long_wait_for_a_sleeper_with_a_limit_is_no_deadlock)
{
    struct backend *b = open_emul(2);
    run(b, 2, wait_long, b);
    backend_close(b);
}

/* ---- what an event says -------------------------------------------------------------------- */

struct seen {
    struct backend_event last;
    int count;
};

static void remember(void *arg, const struct backend_event *e)
{
    struct seen *s = arg;
    s->last = *e;
    s->count++;
}

Test(emul, an_event_names_place_region_and_offset)
{
    struct backend *b = open_emul(1);
    struct seen seen = {0};
    backend_trace(b, remember, &seen);

    uint64_t PM *kept = pm_at(backend_pool(b), 4104);
    pm_store(kept, 7); const int line = __LINE__;
    cr_assert_str_eq(seen.last.word, "store");
    cr_assert_eq(seen.last.kind, PM_PERSISTENT);
    cr_assert_eq(seen.last.offset, 4104);
    cr_assert_eq(seen.last.size, 8);
    cr_assert_eq(seen.last.line, line);
    cr_assert_str_eq(seen.last.file, "tests/test_emul.c");

    uint64_t PM *lost = pm_at(backend_volatile(b), 72);
    const uint64_t value = pm_load(lost);
    cr_assert_eq(value, 0);
    cr_assert_eq(seen.last.kind, PM_VOLATILE);
    cr_assert_eq(seen.last.offset, 72);
    cr_assert_str_eq(seen.last.stage, "DRAM");

    pm_persist(kept, 8);
    cr_assert_str_eq(seen.last.word, "fence");
    cr_assert_eq(seen.last.size, 0);
    backend_close(b);
}

Test(emul, copies_are_one_event_per_line)
{
    struct backend *b = open_emul(1);
    char text[300], back[300] = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    char PM *place = pm_at(backend_pool(b), 4096 + 60);
    struct seen seen = {0};
    backend_trace(b, remember, &seen);
    pm_write(place, text, sizeof text); /* 4 bytes, 4 lines, 40 bytes */
    cr_assert_eq(seen.count, 6);
    pm_read(back, place, sizeof back);
    cr_assert_eq(seen.count, 12);
    cr_assert_eq(memcmp(text, back, sizeof text), 0);
    pm_stream(place, text + 1, sizeof text - 1);
    cr_assert_eq(seen.count, 18);
    pm_flush(place, sizeof text);
    cr_assert_eq(seen.count, 24);
    pm_read(back, place, 0);
    cr_assert_eq(seen.count, 24);
    backend_close(b);
}

struct probe {
    struct backend *b;
    uint64_t latency_ps[2 * SOCKET_CORES];
};

static void load_once(void *arg, int self)
{
    struct probe *p = arg;
    uint64_t PM *word = pm_at(backend_pool(p->b), (uint64_t)(self + 1) * 65536);
    pm_work((uint64_t)self * 100000); /* apart, so that nobody queues */
    const uint64_t start = backend_now_ps(p->b);
    const uint64_t value = pm_load(word);
    cr_assert_eq(value, 0);
    p->latency_ps[self] = backend_done_ps(p->b) - start;
}

Test(emul, workers_beyond_the_first_socket_are_farther_away)
{
    struct probe p = {.b = open_emul(SOCKET_CORES + 1)};
    run(p.b, SOCKET_CORES + 1, load_once, &p);
    cr_assert(p.latency_ps[SOCKET_CORES] > p.latency_ps[SOCKET_CORES - 1] + 50000);
    backend_close(p.b);
}

Test(emul, node_puts_workers_on_the_other_socket)
{
    struct probe near = {.b = open_on("emul:optane-100", 1, 0)};
    run(near.b, 1, load_once, &near);
    backend_close(near.b);
    struct probe far = {.b = open_on("emul:optane-100", 1, 1)};
    run(far.b, 1, load_once, &far);
    backend_close(far.b);
    cr_assert(far.latency_ps[0] > near.latency_ps[0] + 50000);
}

/* ---- the measured window ------------------------------------------------------------------- */

static uint64_t counter(const struct window *w, const char *name)
{
    for (int i = 0; i < w->counter_count; i++)
        if (strcmp(w->counters[i].name, name) == 0) {
            cr_assert_not_null(w->counters[i].source);
            return w->counters[i].value;
        }
    cr_assert_fail("no counter %s", name);
    return 0;
}

struct writing {
    struct backend *b;
    bool flush;
};

static void write_lines(void *arg, int self)
{
    const struct writing *w = arg;
    (void)self;
    for (uint64_t i = 0; i < 100; i++) { /* a line in each of 100 XPLines */
        uint64_t PM *word = pm_at(backend_pool(w->b), 4096 + i * 256);
        pm_store(word, i);
        if (w->flush)
            pm_flush(word, 8);
    }
    pm_fence();
}

static struct window measure(struct backend *b, bool flush)
{
    struct writing writing = {.b = b, .flush = flush};
    struct window w;
    backend_begin(b, PASS_THROUGHPUT);
    run(b, 1, write_lines, &writing);
    backend_end(b, &w);
    return w;
}

Test(emul, what_a_window_leaves_dirty_is_its_residual)
{
    struct backend *b = open_emul(1);
    const struct window lazy = measure(b, false);
    cr_assert(lazy.residual_known);
    cr_assert_eq(counter(&lazy, "imc_write_bytes"), 0);
    cr_assert_eq(counter(&lazy, "flush_lines"), 0);
    cr_assert_eq(lazy.residual_imc_write_bytes, 6400);
    cr_assert_eq(lazy.residual_media_write_bytes, 25600);

    const struct window eager = measure(b, true);
    cr_assert_eq(counter(&eager, "flush_lines"), 100);
    cr_assert_eq(counter(&eager, "fences"), 1);
    cr_assert_eq(counter(&eager, "imc_write_bytes"), 6400);
    cr_assert_eq(eager.residual_imc_write_bytes, 0);
    cr_assert_eq(counter(&eager, "media_write_bytes") + eager.residual_media_write_bytes, 25600,
                 "%lu + %lu", (unsigned long)counter(&eager, "media_write_bytes"),
                 (unsigned long)eager.residual_media_write_bytes);
    cr_assert(eager.elapsed_ps > 0);
    backend_close(b);
}

Test(emul, a_window_owes_nothing_to_what_was_before)
{
    struct backend *b = open_emul(1);
    struct writing writing = {.b = b, .flush = false};
    run(b, 1, write_lines, &writing);
    struct window w;
    backend_begin(b, PASS_THROUGHPUT);
    backend_end(b, &w);
    cr_assert_eq(counter(&w, "imc_write_bytes"), 0);
    cr_assert_eq(w.residual_imc_write_bytes, 0);
    cr_assert_eq(w.residual_media_write_bytes, 0);
    backend_close(b);
}

static void fill_natively(void *arg, int self)
{
    struct backend *b = arg;
    memset(backend_pool(b)->base + (self + 1) * 4096, 'x', 4096);
}

Test(emul, native_workers_fill_the_same_pool)
{
    struct backend *b = open_emul(2);
    char why[BACKEND_WHY_MAX] = "";
    cr_assert_eq(backend_run(b, TARGET_NATIVE, 4, fill_natively, b, why), 0, "%s", why);
    char text[8];
    char PM *last = pm_at(backend_pool(b), 5 * 4096 - sizeof text);
    pm_read(text, last, sizeof text);
    cr_assert_eq(memcmp(text, "xxxxxxxx", sizeof text), 0);
    struct window w;
    backend_begin(b, PASS_THROUGHPUT);
    cr_assert_eq(backend_run(b, TARGET_NATIVE, 1, fill_natively, b, why), 0, "%s", why);
    backend_end(b, &w);
    cr_assert_eq(w.elapsed_ps, 0); /* host time is no simulated time */
    backend_close(b);
}
