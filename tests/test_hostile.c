/* test_hostile.c -- damaged pools: whatever happened to the metadata, an error or a true subset.
 *
 *   a real pool's bytes --one damage--> open, recover --> error, and a refused pool is untouched
 *                                                     --> what is found was written, get agrees;
 *                                                         insert, close, open: that and the new
 *
 * Damaged are single words (each bit flipped, and more) and lines of 64 bytes: of superblock,
 * descriptors, header, buckets, slots' offsets and blobs' first words. Every word of superblock,
 * descriptors in use and header is tried, of the many buckets a fixed sample.
 *
 * Records may be missing only where slots themselves were hit: fixed ones carry no check.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/esh.h"
#include "tests/hostile_pools.h"
#include "tests/random.h"

extern const struct store_ops esh_native;
static const struct store_ops *const ops = &esh_native;

#if defined __SANITIZE_ADDRESS__ || !defined __OPTIMIZE__
enum { THIN = 6 }; /* one of so many: such builds are slow */
#else
enum { THIN = 1 };
#endif
enum { SECONDS_MAX = 30, NEW_RECORDS = 24 };

/* ---- damages --------------------------------------------------------------------------------- */

enum what {
    SUPERBLOCK, DESCRIPTOR, HEADER, /* always tried */
    LOCK, STATE, TAGS, OFFSET, BLOB, LINE0,
    PAIRS, /* slots 0 and 1: no metadata, but their line may be hit */
};
static const char *const names[] = {"superblock", "descriptor", "header", "lock",   "state",
                                    "tags",       "offset",     "blob",   "line 0", "slots 0, 1"};

/* Bytes to damage; next: the next thing of its kind. */
struct target {
    enum what what;
    pm_off offset, next;
    unsigned size;
};

enum { ZERO, ONES, PLUS, MINUS, GARBAGE, NEXT, HELD, FLIP }; /* FLIP + bit */

static struct target *targets;
static unsigned target_count;

static void add(enum what what, pm_off offset, unsigned size, pm_off next)
{
    if (target_count % 1024 == 0)
        targets = realloc(targets, (target_count + 1024) * sizeof *targets);
    targets[target_count++] = (struct target){what, offset, next, size};
}

static void add_words(enum what what, pm_off from, pm_off to, unsigned size)
{
    for (pm_off at = from; at < to; at += size)
        add(what, at, size, at + size);
}

static struct esh_bucket *bucket_at(const struct hostile_pool *p, pm_off offset)
{
    return (struct esh_bucket *)(p->image + offset);
}

static void add_bucket(const struct hostile_pool *p, pm_off at, pm_off next)
{
    const struct esh_bucket *b = bucket_at(p, at);
    add(LOCK, at, 8, next);
    add(STATE, at + 8, 8, next + 8);
    add(TAGS, at + 16, 8, next + 16);
    add(TAGS, at + 24, 8, next + 24);
    add(LINE0, at, PM_LINE, next);
    add(PAIRS, at + 32, 32, next + 32);
    for (unsigned slots = p->fixed ? 0 : esh_allocated(b->state); slots; slots &= slots - 1) {
        const unsigned i = (unsigned)__builtin_ctz(slots);
        const pm_off other = b->slots[(i + 1) % ESH_SLOTS].value;
        add(OFFSET, at + offsetof(struct esh_bucket, slots[i].value), 8,
            at + offsetof(struct esh_bucket, slots[(i + 1) % ESH_SLOTS].value));
        add(BLOB, b->slots[i].value, 8, other && other <= p->size - 8 ? other : 0);
    }
}

static void find_targets(const struct hostile_pool *p)
{
    enum { DESCRIPTORS = 4096 };
    const uint64_t *words = (const uint64_t *)(p->image + DESCRIPTORS);
    uint64_t used = p->size / POOL_UNIT - 1;
    while (used && !words[used - 1])
        used--;
    used = (used + 8) / 8 * 8; /* whole lines, and at least one that never was in use */

    add_words(SUPERBLOCK, 0, 3 * PM_LINE, 8);
    add_words(SUPERBLOCK, 0, 3 * PM_LINE, PM_LINE);
    add_words(DESCRIPTOR, DESCRIPTORS, DESCRIPTORS + used * 8, 8);
    add_words(DESCRIPTOR, DESCRIPTORS, DESCRIPTORS + used * 8, PM_LINE);
    add_words(HEADER, p->header, p->header + sizeof(struct esh_header), 8);
    add(HEADER, p->header, PM_LINE, p->segments[0]);
    for (unsigned i = 0; i < p->segment_count; i++)
        for (unsigned b = 0; b < p->buckets; b++) {
            const bool last = b == p->buckets - 1;
            const pm_off other = p->segments[last ? (i + 1) % p->segment_count : i];
            add_bucket(p, p->segments[i] + b * sizeof(struct esh_bucket),
                       other + (last ? 0 : b + 1) * sizeof(struct esh_bucket));
        }
}

/* A lock that is held in the opening to come. */
static uint64_t held_then(const struct hostile_pool *p)
{
    enum { GENERATION = 64 };
    uint64_t generation;
    memcpy(&generation, p->image + GENERATION, sizeof generation);
    return (generation + 1) << 32 | 1;
}

/* Changes the bytes at t of memory. False: they are the same afterwards. */
static bool apply(const struct hostile_pool *p, char *memory, const struct target *t, unsigned how,
                  uint64_t *random)
{
    uint64_t words[PM_LINE / 8];
    memcpy(words, memory + t->offset, t->size);
    for (unsigned i = 0; i < t->size / 8; i++)
        switch (how) {
        case ZERO: words[i] = 0; break;
        case ONES: words[i] = UINT64_MAX; break;
        case PLUS: words[i]++; break;
        case MINUS: words[i]--; break;
        case GARBAGE: words[i] = random_next(random); break;
        case NEXT: memcpy(&words[i], p->image + t->next + i * 8, 8); break;
        case HELD: words[i] = held_then(p); break;
        default: break;
        }
    if (how >= FLIP) {
        const unsigned bit = t->size == 8 ? how - FLIP : random_next(random) % (t->size * 8);
        words[bit / 64] ^= UINT64_C(1) << bit % 64;
    }
    const bool same = memcmp(memory + t->offset, words, t->size) == 0;
    memcpy(memory + t->offset, words, t->size);
    return !same;
}

static unsigned hows(const struct target *t)
{
    return t->size == 8 ? FLIP + 64 : FLIP + 1;
}

/* ---- what may come of it --------------------------------------------------------------------- */

/* One pool under test, and what has come of its damages. */
struct trial {
    const struct hostile_pool *p;
    struct hostile_bed bed;
    char *damaged;
    uint8_t *seen;
    struct pool pool;
    struct store *s;
    struct store_recovery found;
    const struct target *t;
    unsigned how;
    uint64_t records, strangers, later; /* of an iteration; later: new records */
    uint64_t errors, full, subset;
};

static struct trial trial;

static const char *said(void)
{
    static char text[128];
    snprintf(text, sizeof text, "pool %d, %s at byte %llu, %u bytes, damage %u", trial.p->kind,
             names[trial.t->what], (unsigned long long)trial.t->offset, trial.t->size, trial.how);
    return text;
}

#define MUST(truth, ...)                                                                           \
    do                                                                                             \
        if (!(truth)) {                                                                            \
            fprintf(stderr, "%s: " #truth "\n", said());                                           \
            cr_assert_fail(__VA_ARGS__);                                                           \
        }                                                                                          \
    while (0)

static void too_long(int signal)
{
    const char *text = said();
    (void)signal;
    if (write(2, "it hangs: ", 10) < 0 || write(2, text, strlen(text)) < 0)
        _exit(2);
    _exit(1);
}

/* Slots 0 and 1 were hit as well: their two records may be anything, and nothing else. In a
 * variable table they may be deleted ones, when a slot came to hold hash and offset of one. */
static bool pairs_were_hit(void)
{
    return trial.t->what == PAIRS || trial.t->what == LINE0;
}

static bool lies_in_the_pairs(struct bytes key, struct bytes value)
{
    if (!trial.p->fixed)
        return true;
    const struct esh_bucket *b =
        (struct esh_bucket *)(trial.damaged + trial.t->offset / PM_XPLINE * PM_XPLINE);
    for (unsigned i = 0; i < 2; i++)
        if (memcmp(key.data, &b->slots[i].key, 8) == 0 &&
            memcmp(value.data, &b->slots[i].value, 8) == 0)
            return true;
    return false;
}

static int look(void *arg, struct bytes key, struct bytes value)
{
    uint8_t version = 0;
    const uint32_t id = hostile_id(trial.p->fixed, key, value, &version);
    (void)arg;
    const bool is_new = id >= HOSTILE_FRESH_ID;
    if (id && !trial.seen[id] && version == (is_new ? 1 : trial.p->version[id])) {
        trial.seen[id] = 1;
        trial.records += !is_new;
        trial.later += is_new;
        const int error = hostile_get(trial.s, trial.p->fixed, id, version);
        MUST(!error || pairs_were_hit(), "id %u: get says %d", id, error);
        return 0;
    }
    MUST(pairs_were_hit() && lies_in_the_pairs(key, value),
         "a record that nobody wrote, or twice: id %u", id);
    trial.strangers++;
    return 0;
}

/* The table is open: are its records a true subset, as many as recovery said? */
static void check_records(void)
{
    char why[256] = "";
    memset(trial.seen, 0, HOSTILE_IDS);
    trial.records = trial.strangers = trial.later = 0;
    MUST(ops->iterate(trial.s, look, NULL) == 0, "iterate");
    const uint64_t sum = trial.records + trial.strangers + trial.later;
    MUST(sum == trial.found.records, "recovery counted %lu, there are %lu",
         (unsigned long)trial.found.records, (unsigned long)sum);
    MUST(trial.strangers <= 2, "more than two");
    const int error = ops->audit(trial.s, why, sizeof why);
    MUST(!error || (error == -EIO && pairs_were_hit()), "audit: %s", why);
}

static int reopen(void)
{
    char why[POOL_WHY_MAX] = "";
    hostile_restart(&trial.bed);
    alarm(SECONDS_MAX);
    int error = pool_open(&trial.pool, &trial.bed.memory, &trial.bed.dram, why);
    if (error) {
        MUST(why[0] && strlen(why) < POOL_WHY_MAX, "no reason");
        MUST(memcmp(trial.bed.memory.base, trial.damaged, trial.p->size) == 0,
             "a refused pool was changed");
        return error;
    }
    error = ops->open(&trial.s, &trial.pool, &trial.found);
    if (error)
        pool_close(&trial.pool);
    return error;
}

static void close_both(void)
{
    ops->close(trial.s);
    pool_close(&trial.pool);
}

static void insert_and_reopen(void)
{
    const uint64_t records = trial.records + trial.strangers;
    uint64_t inserted = 0;
    for (uint32_t i = 0; i < NEW_RECORDS; i++) {
        const int error = hostile_put(trial.s, trial.p->fixed, HOSTILE_INSERT,
                                      HOSTILE_FRESH_ID + i, 1);
        MUST(!error || (error == -ENOSPC && trial.p->kind == HOSTILE_FULL), "insert: %d", error);
        inserted += !error;
    }
    close_both();
    const int error = reopen();
    MUST(!error, "opened, used, and now %d", error);
    check_records();
    MUST(trial.records + trial.strangers == records && trial.later == inserted, "lost or found");
    close_both();
}

static void try_one(uint64_t *random)
{
    memcpy(trial.bed.memory.base, trial.p->image, trial.p->size);
    if (!apply(trial.p, trial.bed.memory.base, trial.t, trial.how, random))
        return;
    memcpy(trial.damaged, trial.bed.memory.base, trial.p->size);
    const int error = reopen();
    if (error) {
        MUST(error == -EIO || error == -EINVAL, "error %d", error);
        trial.errors++;
        return;
    }
    check_records();
    const bool all = trial.records == trial.p->records;
    MUST(all || pairs_were_hit(), "records are gone, and nobody says so");
    *(all ? &trial.full : &trial.subset) += 1;
    insert_and_reopen();
}

/* Tries about so many damages of buckets, and all of the rest. */
static void try_pool(enum hostile_kind kind, uint32_t records, uint64_t most)
{
    struct hostile_pool p = hostile_make(kind, records);
    uint64_t random = kind + 1u, total = 0, number = 0;

    signal(SIGALRM, too_long);
    trial = (struct trial){.p = &p, .bed = hostile_bed_open(p.size)};
    trial.damaged = malloc(p.size);
    trial.seen = malloc(HOSTILE_IDS);
    find_targets(&p);
    for (unsigned i = 0; i < target_count; i++)
        total += hows(&targets[i]);
    const uint64_t stride = total / most * THIN | 1;
    for (unsigned i = 0; i < target_count; i++)
        for (unsigned how = 0; how < hows(&targets[i]); how++, number++) {
            const bool always = targets[i].what <= HEADER && (THIN == 1 || how < FLIP);
            if (!always && number % stride)
                continue;
            trial.t = &targets[i];
            trial.how = how;
            try_one(&random);
        }
    alarm(0);
    printf("pool %d: %lu records, %u segments; of %lu damages %lu refused, %lu full, %lu subsets\n",
           (int)kind, (unsigned long)p.records, p.segment_count,
           (unsigned long)(trial.errors + trial.full + trial.subset), (unsigned long)trial.errors,
           (unsigned long)trial.full, (unsigned long)trial.subset);
    cr_assert_gt(trial.errors, 0);
    cr_assert_gt(trial.full, 0, "hints and old locks may be lost");
    hostile_bed_close(&trial.bed);
    free(trial.damaged);
    free(trial.seen);
    free(targets);
    hostile_free(&p);
}

enum { MOST = 1000 };

Test(hostile, fixed_records)
{
    try_pool(HOSTILE_FIXED, 1200, MOST);
}

Test(hostile, fixed_records_in_large_segments)
{
    try_pool(HOSTILE_LARGE, 4000, MOST);
}

Test(hostile, variable_records)
{
    try_pool(HOSTILE_VARIABLE, 1000, MOST);
}

Test(hostile, a_split_without_its_commit)
{
    try_pool(HOSTILE_TORN, 1200, MOST);
}

Test(hostile, a_split_with_its_commit_only)
{
    try_pool(HOSTILE_CUT, 1200, MOST);
}

Test(hostile, a_pool_nearly_full)
{
    try_pool(HOSTILE_FULL, 0, MOST);
}

Test(hostile, a_table_without_records)
{
    try_pool(HOSTILE_EMPTY, 0, MOST);
}
