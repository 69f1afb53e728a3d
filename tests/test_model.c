/* test_model.c -- the model against published measurements of one DIMM, and its own invariants.
 *
 * Modelled time only: nothing here reads a clock. Measured values: FAST'20 and its data.
 */
#include "model/model.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

enum { GIB_LINES = 1 << 24 };

static uint64_t state;

static uint64_t draw(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % bound;
}

static struct model *make(const char *name, const char *set)
{
    struct profile p;
    struct model *m = NULL;
    char why[256] = "";

    state = 88172645463325252ull;
    cr_assert_eq(profile_load(&p, name, why, sizeof why), 0, "%s", why);
    if (set)
        cr_assert_eq(profile_set(&p, set, why, sizeof why), 0, "%s", why);
    cr_assert_eq(model_create(&m, &p, 4ull << 30, 7, why, sizeof why), 0, "%s", why);
    return m;
}

static void touch(struct model *m, struct core *c, uint64_t line, enum access kind)
{
    if (!core_try_l1(c, line, kind) && !core_try_l2(c, line, kind)) {
        core_reserve(c, kind);
        model_access(m, c, line, kind);
    }
}

static void near(double value, double target, double tolerance, const char *what)
{
    cr_assert(value > target * (1 - tolerance) && value < target * (1 + tolerance),
              "%s: %.3f, measured %.3f", what, value, target);
}

static double ewr(const struct model *m)
{
    struct model_counters n;

    model_counters(m, &n);
    return (double)n.imc_write_bytes / (double)n.media_write_bytes;
}

/* Cores stream random lines with a fence each, the one that is earliest first. */
static void stream_random(struct model *m, int cores, int count)
{
    for (int i = 0; i < count; i++) {
        struct core *c = model_core(m, 0);

        for (int j = 1; j < cores; j++)
            if (core_now(model_core(m, j)) < core_now(c))
                c = model_core(m, j);
        model_stream(m, c, draw(GIB_LINES), 64);
        model_fence(m, c);
    }
}

Test(model, random_64_byte_streams_write_four_times_as_much)
{
    for (int cores = 1; cores <= 4; cores++) {
        struct model *m = make("optane-100-1dimm", NULL);

        stream_random(m, cores, 100000);
        model_drain(m);
        cr_assert(ewr(m) > .238 && ewr(m) < .255, "%d cores: %.4f", cores, ewr(m));
        model_destroy(m);
    }
}

Test(model, sequential_256_byte_streams_write_little_more)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);

    for (uint64_t line = 0; line < 100000; line++) {
        model_stream(m, c, line, 64);
        if (line % 4 == 3)
            model_fence(m, c);
    }
    model_drain(m);
    cr_assert(ewr(m) > .96 && ewr(m) < .99, "%.4f", ewr(m));
    model_destroy(m);
}

/* Media writes for each XPLine of the region and round: first halves, then second halves. */
static double two_pass(int kib)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);
    int lines = kib * 4, rounds = 40000 / lines;
    struct model_counters n;

    for (int pass = 0; pass < 2 * rounds; pass++)
        for (int x = 0; x < lines; x++) {
            uint64_t line = (uint64_t)x * 4 + (uint64_t)(pass % 2) * 2;

            model_stream(m, c, line, 64);
            model_stream(m, c, line + 1, 64);
            model_fence(m, c);
        }
    model_drain(m);
    model_counters(m, &n);
    model_destroy(m);
    return (double)n.media_write_bytes / 256 / rounds / lines;
}

Test(model, half_lines_merge_while_the_xpbuffer_holds_them)
{
    near(two_pass(16), 1.04, .06, "16 KiB");
    near(two_pass(24), 1.61, .06, "24 KiB");
    near(two_pass(64), 2.04, .06, "64 KiB");
}

Test(model, a_pointer_chase_over_a_gigabyte_takes_the_miss_latency)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);
    enum { STEPS = 50000 };
    uint64_t begin = 0;

    for (int i = 0; i < 2 * STEPS; i++) {
        if (i == STEPS)
            begin = core_now(c);
        touch(m, c, draw(GIB_LINES), ACCESS_LOAD);
        core_use(c);
    }
    near((double)(core_now(c) - begin) / STEPS / 1000, 377, .05, "ns per step");
    model_destroy(m);
}

Test(model, each_level_of_the_dimm_has_its_latency)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);
    const struct {
        uint64_t line;
        enum stage stage;
        uint64_t ps;
    } steps[] = {
        {4000, STAGE_MEDIA, 377000}, {4002, STAGE_READ_BUFFER, 175000}, {4008, STAGE_AIT, 310000}};

    touch(m, c, 4001 + 64000, ACCESS_LOAD); /* walks the page table once */
    for (int i = 0; i < 3; i++) {
        core_use(c);
        uint64_t begin = core_now(c);

        touch(m, c, steps[i].line, ACCESS_LOAD);
        cr_assert_eq(c->answer.stage, steps[i].stage, "%s", stage_name(c->answer.stage));
        uint64_t walk = i == 0 ? c->walk_ps : 0;

        cr_assert_eq(c->answer.done_ps - begin - walk, steps[i].ps);
    }
    touch(m, c, 4000, ACCESS_LOAD);
    cr_assert_eq(c->answer.stage, STAGE_L1);
    model_destroy(m);
}

Test(model, independent_loads_keep_the_media_busy)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);
    enum { LOADS = 50000 };

    for (int i = 0; i < LOADS; i++)
        touch(m, c, draw(GIB_LINES), ACCESS_LOAD);
    core_use(c);
    near((double)core_now(c) / LOADS / 1000, 40, .10, "ns per line");
    model_destroy(m);
}

Test(model, persisting_an_idle_line_takes_the_measured_time)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);

    model_stream(m, c, 5, 64);
    cr_assert_eq(c->answer.done_ps, 90000);
    model_stream(m, c, 6, 64);
    cr_assert_eq(c->answer.done_ps, 112500);
    model_fence(m, c);
    cr_assert_eq(core_now(c), 112500);

    touch(m, c, 100, ACCESS_STORE);
    core_work(c, 100000);
    uint64_t begin = core_now(c);

    model_flush(m, c, 100);
    cr_assert_eq(c->answer.done_ps - begin, 62000);
    model_flush(m, c, 100);
    struct model_counters n;

    model_counters(m, &n);
    cr_assert_eq(n.flush_lines, 2);
    cr_assert_eq(n.flush_clean_lines, 1);
    cr_assert_eq(n.imc_write_bytes, 3 * 64);
    model_destroy(m);
}

Test(model, writing_the_same_line_again_waits_for_the_hazard)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);

    for (int i = 0; i < 11; i++) {
        model_stream(m, c, 9, 64);
        model_fence(m, c);
    }
    cr_assert_geq(core_now(c), 10 * 190000);
    cr_assert_leq(core_now(c), 10 * 190000 + 90000 + 11 * 1000);
    model_destroy(m);
}

Test(model, drain_writes_what_caches_and_buffers_still_hold)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);
    struct model_counters before, after, again;

    for (uint64_t i = 0; i < 100; i++)
        touch(m, c, i * 4, ACCESS_STORE);
    model_counters(m, &before);
    cr_assert_eq(before.imc_write_bytes, 0);
    uint64_t quiet = model_drain(m);

    model_counters(m, &after);
    cr_assert_eq(after.imc_write_bytes, 100 * 64);
    cr_assert_geq(after.media_write_bytes, 100 * 256);
    cr_assert_leq(after.media_write_bytes, 104 * 256);
    cr_assert_eq(after.media_read_bytes, before.media_read_bytes + 100 * 256);
    for (int i = 0; i < 24; i++)
        cr_assert_eq(core_now(model_core(m, i)), quiet);
    cr_assert_eq(model_drain(m), quiet);
    model_counters(m, &again);
    cr_assert_eq(memcmp(&after, &again, sizeof after), 0);
    model_destroy(m);
}

Test(model, a_partial_line_waits_in_the_xpbuffer)
{
    struct model *m = make("optane-100-1dimm", NULL);
    struct core *c = model_core(m, 0);

    cr_assert_eq(model_xpline_bytes(m, 40), -1);
    for (int i = 0; i < 4; i++) {
        model_stream(m, c, 40 + (uint64_t)i, 64);
        cr_assert_eq(model_xpline_bytes(m, 40), i == 3 ? 0 : 64 * (i + 1));
    }
    model_destroy(m);
}

Test(model, a_store_takes_the_line_from_its_peers)
{
    struct model *m = make("optane-100", NULL);
    struct core *a = model_core(m, 0), *b = model_core(m, 1), *far = model_core(m, 24);

    touch(m, a, 7, ACCESS_STORE);
    touch(m, b, 7, ACCESS_LOAD);
    cr_assert_eq(b->answer.stage, STAGE_PEER);
    cr_assert_eq(core_state(a, 7), LINE_SHARED);
    touch(m, far, 7, ACCESS_STORE);
    cr_assert(far->answer.remote);
    cr_assert_eq(core_state(a, 7), LINE_INVALID);
    cr_assert_eq(core_state(b, 7), LINE_INVALID);
    cr_assert_eq(core_state(far, 7), LINE_MODIFIED);
    model_flush(m, a, 7); /* from wherever it is dirty */
    cr_assert_eq(a->answer.stage, STAGE_WPQ);
    cr_assert_eq(core_state(far, 7), LINE_INVALID);
    model_destroy(m);
}

/* Random events on random cores of both sockets, over a region that overflows small caches. */
static void mixture(struct model *m, int count)
{
    for (int i = 0; i < count; i++) {
        struct core *c = model_core(m, (int)draw(48));
        uint64_t line = draw(1 << 17) | (draw(8) == 0 ? LINE_DRAM : 0);

        switch (draw(8)) {
        case 0: model_flush(m, c, line); break;
        case 1: model_stream(m, c, line, 64); break;
        case 2: model_fence(m, c); break;
        case 3: model_prefetch(m, c, line); break;
        case 4: touch(m, c, line, ACCESS_ATOMIC); break;
        case 5: touch(m, c, line, ACCESS_STORE); break;
        default: touch(m, c, line, ACCESS_LOAD); break;
        }
    }
}

Test(model, the_same_calls_give_the_same_answers)
{
    struct model_counters n[2];
    uint64_t quiet[2];

    for (int i = 0; i < 2; i++) {
        struct model *m = make("optane-100", NULL);

        mixture(m, 200000);
        quiet[i] = model_drain(m);
        model_counters(m, &n[i]);
        model_destroy(m);
    }
    cr_assert_eq(quiet[0], quiet[1]);
    cr_assert_eq(memcmp(&n[0], &n[1], sizeof n[0]), 0);
    cr_assert_gt(n[0].peer_hits, 0);
}

Test(model, at_most_one_core_may_write_a_line)
{
    struct model *m = make("optane-100", "llc_size=64");

    mixture(m, 300000);
    for (uint64_t line = 0; line < 1 << 17; line++) {
        int holders = 0, owners = 0;

        for (int i = 0; i < 48; i++) {
            enum line_state s = core_state(model_core(m, i), line);

            holders += s != LINE_INVALID;
            owners += s >= LINE_EXCLUSIVE;
        }
        cr_assert(owners == 0 || holders == 1, "line %d: %d of %d", (int)line, owners, holders);
    }
    model_destroy(m);
}

Test(model, the_ideal_machine_persists_at_once)
{
    struct model *m = make("ideal", NULL);
    struct core *c = model_core(m, 0);

    stream_random(m, 1, 1000);
    cr_assert_leq(core_now(c), 1000 * 2 * 385);
    cr_assert_eq(ewr(m), 1.0);
    model_destroy(m);
}

Test(model, a_profile_that_cannot_be_built_is_refused_with_a_reason)
{
    struct profile p;
    struct model *m = NULL;
    char why[256] = "";

    cr_assert_eq(profile_load(&p, "optane-100", why, sizeof why), 0);
    p.wpq = 0;
    cr_assert_eq(model_create(&m, &p, 1 << 20, 1, why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "wpq") != NULL);
    cr_assert_null(m);
}
