/* test_esh.c -- ESH's own promises: overflow, splits, equal hashes, a full pool, recovery.
 */
#include <pthread.h>

#include "tests/esh_table.h"

static uint64_t count(struct table *t)
{
    uint64_t records = 0;
    cr_assert_eq(ops->iterate(t->s, store_count, &records), 0);
    return records;
}

/* The next key from *from on whose home is `home`. */
static uint64_t key_at_home(struct table *t, unsigned home, uint64_t *from)
{
    while (esh_home(t->s, esh_hash_word(t->s, *from)) != home)
        ++*from;
    return (*from)++;
}

Test(esh, every_word_is_a_legal_key_and_value)
{
    struct table t = make(4, true);
    uint64_t value = 1;
    start(&t);

    cr_assert_eq(ops->insert(t.s, 0, 0), 0);
    cr_assert_eq(ops->insert(t.s, UINT64_MAX, UINT64_MAX), 0);

    cr_assert_eq(ops->get(t.s, 0, &value), 0);
    cr_assert_eq(value, 0);
    cr_assert_eq(ops->get(t.s, UINT64_MAX, &value), 0);
    cr_assert_eq(value, UINT64_MAX);
    cr_assert_eq(ops->get(t.s, 1, &value), -ENOENT);
    check(&t);
    stop(&t);
}

Test(esh, operations_answer_as_the_store_promises)
{
    struct table t = make(4, true);
    uint64_t value = 0;
    start(&t);

    cr_assert_eq(ops->update(t.s, 7, 1), -ENOENT);
    cr_assert_eq(ops->remove(t.s, 7), -ENOENT);
    cr_assert_eq(ops->insert(t.s, 7, 1), 0);
    cr_assert_eq(ops->insert(t.s, 7, 2), -EEXIST);
    cr_assert_eq(ops->update(t.s, 7, 3), 0);
    cr_assert_eq(ops->get(t.s, 7, &value), 0);
    cr_assert_eq(value, 3);
    cr_assert_eq(ops->upsert(t.s, 7, 4), 0);
    cr_assert_eq(ops->upsert(t.s, 8, 5), 0);
    cr_assert_eq(count(&t), 2);
    cr_assert_eq(ops->remove(t.s, 7), 0);
    cr_assert_eq(ops->get(t.s, 7, &value), -ENOENT);
    cr_assert_eq(count(&t), 1);
    check(&t);
    stop(&t);
}

Test(esh, a_full_bucket_overflows_into_its_neighbours_before_any_split)
{
    struct table t = make(4, true);
    struct store_stats stats;
    uint64_t from = 0, keys[56];
    start(&t);

    for (int i = 0; i < 56; i++) {
        keys[i] = key_at_home(&t, 2, &from);
        cr_assert_eq(ops->insert(t.s, keys[i], ~keys[i]), 0);
    }

    ops->stats(t.s, &stats);
    cr_assert_eq(stats.splits, 0);
    cr_assert_eq(esh_ofrb(first_segment(&t)[2].tags[1]), 7, "records 1, 2 and 3 buckets further");
    cr_assert_eq(esh_oc(first_segment(&t)[2].tags[1]), 42);
    for (int i = 0; i < 56; i++)
        expect_range(&t, keys[i], keys[i] + 1);
    check(&t);
    stop(&t);
}

Test(esh, deleting_away_records_lowers_the_hints)
{
    struct table t = make(4, true);
    uint64_t from = 0, keys[16];
    start(&t);
    for (int i = 0; i < 16; i++) {
        keys[i] = key_at_home(&t, 3, &from);
        cr_assert_eq(ops->insert(t.s, keys[i], 0), 0);
    }
    cr_assert_eq(esh_oc(first_segment(&t)[3].tags[1]), 2);

    cr_assert_eq(ops->remove(t.s, keys[14]), 0);
    cr_assert_eq(esh_oc(first_segment(&t)[3].tags[1]), 1);
    cr_assert_eq(esh_ofrb(first_segment(&t)[3].tags[1]), 1);
    cr_assert_eq(ops->remove(t.s, keys[15]), 0);

    cr_assert_eq(first_segment(&t)[3].tags[1] >> 48, 0, "OB, OFRB and OC are all lowered");
    check(&t);
    stop(&t);
}

struct shape {
    uint64_t buckets, probe, fingerprints, hash;
};

static void splits_keep_every_record(struct shape shape)
{
    struct table t = make(32, true);
    struct store_stats stats;
    t.config.parameters[ESH_BUCKETS] = shape.buckets;
    t.config.parameters[ESH_PROBE] = shape.probe;
    t.config.parameters[ESH_FINGERPRINTS] = shape.fingerprints;
    t.config.parameters[ESH_HASH] = shape.hash;
    start(&t);

    insert_range(&t, 0, 100000);
    for (uint64_t key = 0; key < 100000; key += 2)
        cr_assert_eq(ops->remove(t.s, key), 0);
    for (uint64_t key = 0; key < 100000; key += 4)
        cr_assert_eq(ops->insert(t.s, key, ~key), 0);

    for (uint64_t key = 0; key < 100000; key++) {
        uint64_t value;
        const int wanted = key % 4 == 2 ? -ENOENT : 0;
        cr_assert_eq(ops->get(t.s, key, &value), wanted);
        cr_assert(wanted || value == ~key);
    }
    ops->stats(t.s, &stats);
    cr_assert_gt(stats.splits, 10);
    cr_assert_eq(stats.segments, stats.splits + 1);
    cr_assert_eq(count(&t), 75000);
    check(&t);
    const struct store_recovery found = restart(&t);
    cr_assert_eq(found.records, 75000);
    cr_assert_eq(found.segments, stats.segments);
    check(&t);
    stop(&t);
}

Test(esh, splits_keep_every_record_in_the_papers_shape)
{
    splits_keep_every_record((struct shape){4, 4, 1, ESH_MURMUR});
}

Test(esh, splits_keep_every_record_without_fingerprints)
{
    splits_keep_every_record((struct shape){4, 4, 0, ESH_MURMUR});
}

Test(esh, splits_keep_every_record_in_segments_of_64_buckets)
{
    splits_keep_every_record((struct shape){64, 8, 1, ESH_MIX});
}

Test(esh, splits_keep_every_record_without_overflow)
{
    splits_keep_every_record((struct shape){8, 1, 1, ESH_MURMUR});
}

Test(esh, more_equal_hashes_than_a_segment_holds_end_in_eoverflow)
{
    struct table t = make(4, true);
    struct store_stats before, after;
    uint64_t key = 0;
    int error;
    t.config.parameters[ESH_HASH_BITS] = 1;
    start(&t);

    do
        error = ops->insert(t.s, key, ~key);
    while (!error && ++key < 1000);
    ops->stats(t.s, &before);
    const int again = ops->insert(t.s, key, ~key);
    ops->stats(t.s, &after);

    cr_assert_eq(error, -EOVERFLOW);
    cr_assert_eq(again, -EOVERFLOW);
    cr_assert_geq(key, 56);
    cr_assert_leq(key, 112, "two hashes, 56 slots each");
    cr_assert_eq(before.segments, after.segments, "a refused insert grows nothing");
    cr_assert_eq(before.volatile_bytes, after.volatile_bytes);
    expect_range(&t, 0, key);
    check(&t);
    stop(&t);
}

Test(esh, a_full_pool_says_so_and_keeps_every_earlier_key)
{
    struct table t = make(2, true);
    uint64_t key = 0;
    int error;
    start(&t);

    do
        error = ops->insert(t.s, key, ~key);
    while (!error && ++key < 1000000);

    cr_assert_eq(error, -ENOSPC);
    cr_assert_gt(key, 10000);
    expect_range(&t, 0, key);
    cr_assert_eq(count(&t), key);
    check(&t);
    restart(&t);
    expect_range(&t, 0, key);
    check(&t);
    stop(&t);
}

Test(esh, recovery_restores_hints_that_were_lost)
{
    struct table t = make(4, true);
    start(&t);
    insert_range(&t, 0, 5000);
    for (uint64_t i = 0; i < UINT64_C(1) << pm_look(&t.s->directory->depth); i++) {
        const pm_off offset = pm_load(&t.s->directory->entries[i]);
        struct esh_bucket *segment = (struct esh_bucket *)(t.memory.base + offset);
        for (int b = 0; b < 4; b++) {
            segment[b].tags[0] = segment[b].tags[1] = 0;
            segment[b].lock |= 1; /* held when the power went */
        }
    }

    const struct store_recovery found = restart(&t);

    cr_assert_eq(found.records, 5000);
    cr_assert_eq(found.discarded, 0);
    expect_range(&t, 0, 5000);
    check(&t);
    stop(&t);
}

/* A new segment beside its old one, as a split leaves it when the power goes before the commit. */
static pm_off torn_split(struct table *t)
{
    struct esh_bucket *old = first_segment(t);
    const unsigned depth = esh_depth(old->state);
    const pm_off fresh = pool_alloc(&t->pool, 4 * sizeof *old, ESH_TAG_SEGMENT);
    struct esh_bucket *new = (struct esh_bucket *)(t->memory.base + fresh);
    cr_assert_neq(fresh, 0);
    memcpy(new, old, 4 * sizeof *old);
    for (int b = 0; b < 4; b++)
        new[b].state = esh_state((unsigned)b, depth + 1, UINT64_C(1) << depth,
                                 esh_allocated(old[b].state));
    return fresh;
}

Test(esh, a_split_cut_off_before_its_commit_never_happened)
{
    struct table t = make(4, true);
    start(&t);
    insert_range(&t, 0, 1000);
    const uint64_t segments = pm_look(&t.s->directory->segments);
    const pm_off fresh = torn_split(&t);

    const struct store_recovery found = restart(&t);

    cr_assert_eq(found.discarded, 1);
    cr_assert_eq(found.segments, segments);
    cr_assert_eq(found.records, 1000);
    cr_assert_eq(((struct esh_bucket *)(t.memory.base + fresh))->state, 0, "never live again");
    expect_range(&t, 0, 1000);
    check(&t);
    cr_assert_eq(restart(&t).discarded, 0);
    stop(&t);
}

Test(esh, a_split_cut_off_after_its_commit_is_finished_by_recovery)
{
    struct table t = make(4, true);
    uint64_t key = 0;
    start(&t);
    while (pm_look(&t.s->directory->splits) == 0) {
        insert_range(&t, key, key + 1);
        key++;
    }
    /* Undo what follows the commit: the later buckets' depth, and their dropped slots. */
    struct esh_bucket *old = first_segment(&t);
    for (unsigned b = 1; b < 4; b++)
        old[b].state = esh_state(b, 0, 0, ESH_ALL);

    const struct store_recovery found = restart(&t);

    cr_assert_eq(found.segments, 2);
    cr_assert_eq(found.discarded, 0);
    cr_assert_eq(found.records, key);
    expect_range(&t, 0, key);
    check(&t);
    stop(&t);
}

Test(esh, a_table_with_a_missing_segment_is_not_opened)
{
    struct table t = make(4, true);
    struct store_recovery found;
    char why[POOL_WHY_MAX];
    start(&t);
    insert_range(&t, 0, 1000);
    first_segment(&t)->state = 0;
    ops->close(t.s);
    pool_close(&t.pool);
    munmap(t.dram.base, t.dram.size);
    t.dram = map(UINT64_C(1) << 30, PM_VOLATILE);

    cr_assert_eq(pool_open(&t.pool, &t.memory, &t.dram, why), 0);
    cr_assert_eq(ops->open(&t.s, &t.pool, &found), -EIO);
}

Test(esh, one_million_records_are_found_before_and_after_a_restart)
{
    struct table t = make(128, true);
    start(&t);

    insert_range(&t, 0, 1000000);
    expect_range(&t, 0, 1000000);
    const struct store_recovery found = restart(&t);

    cr_assert_eq(found.records, 1000000);
    expect_range(&t, 0, 1000000);
    stop(&t);
}

Test(esh, locate_names_segment_bucket_and_byte)
{
    struct table t = make(4, true);
    char text[64];
    start(&t);
    const pm_off segment = pm_load(&t.s->directory->entries[0]);

    ops->locate(t.s, segment + 3 * 256 + 40, text, sizeof text);

    cr_assert_not_null(strstr(text, " bucket 3 byte 40 (slot 0 value)"), "%s", text);
    cr_assert_eq(strncmp(text, "segment ", 8), 0, "%s", text);
    ops->locate(t.s, 8, text, sizeof text);
    cr_assert_str_eq(text, "pool byte 8");
    stop(&t);
}

/* ---- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4, PER_THREAD = 20000, SHARED = 64 };

struct worker {
    struct store *s;
    int self, wrong;
};

/* Own keys must always answer as this thread left them; shared ones with their only legal value. */
static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t random = (uint64_t)w->self + 1, value;
    native_self = w->self;

    for (uint64_t i = 0; i < PER_THREAD; i++) {
        const uint64_t key = i << 8 | (uint64_t)w->self;
        w->wrong += ops->insert(w->s, key, ~key) != 0;
        w->wrong += ops->update(w->s, key, key) != 0;
        w->wrong += ops->get(w->s, key, &value) != 0 || value != key;
        if (i % 3 == 0) {
            w->wrong += ops->remove(w->s, key) != 0;
            w->wrong += ops->get(w->s, key, &value) != -ENOENT;
        }

        random = random * 6364136223846793005u + 1;
        const uint64_t shared = UINT64_C(255) | (random >> 33) % SHARED << 8;
        switch (random >> 60 & 3) {
        case 0: w->wrong += ops->upsert(w->s, shared, shared * 3) != 0; break;
        case 1: (void)ops->remove(w->s, shared); break;
        case 2: (void)ops->insert(w->s, shared, shared * 3); break;
        default: w->wrong += ops->get(w->s, shared, &value) == 0 && value != shared * 3; break;
        }
    }
    return NULL;
}

Test(esh, threads_find_what_they_acknowledged_and_nothing_else)
{
    struct table t = make(32, true);
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    start(&t);

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.s = t.s, .self = i};
        cr_assert_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(workers[i].wrong, 0);
    for (uint64_t i = 0; i < (uint64_t)PER_THREAD * THREADS; i++) {
        const uint64_t key = i / THREADS << 8 | i % THREADS;
        uint64_t value;
        cr_assert_eq(ops->get(t.s, key, &value), i / THREADS % 3 ? 0 : -ENOENT);
    }
    check(&t);
    stop(&t);
}

/* ---- variable records ------------------------------------------------------------------------- */

/* Bytes that depend on seed; the first four are the seed, so equal sizes differ. */
static struct bytes text(char *buffer, uint32_t size, uint32_t seed)
{
    for (uint32_t i = 0; i < size; i++)
        buffer[i] = (char)(i < 4 ? seed >> i * 8 : seed * 31 + i * 7);
    return (struct bytes){buffer, size};
}

static char key_buffer[STORE_BYTES_MAX], value_buffer[STORE_BYTES_MAX], out[STORE_BYTES_MAX];

static void expect_bytes(struct table *t, struct bytes key, struct bytes value)
{
    uint32_t size = 0;
    cr_assert_eq(ops->get_bytes(t->s, key, out, sizeof out, &size), 0);
    cr_assert_eq(size, value.size);
    cr_assert_eq(memcmp(out, value.data, size), 0);
}

Test(esh, variable_records_of_every_size_survive_a_restart)
{
    static const uint32_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 255, 4096, 32768, 65535, 65536};
    const uint32_t n = sizeof sizes / sizeof sizes[0];
    struct table t = make(64, false);
    start(&t);

    for (uint32_t i = 0; i < n * n; i++)
        cr_assert_eq(ops->insert_bytes(t.s, text(key_buffer, sizes[i / n], i % n + 1),
                                       text(value_buffer, sizes[i % n], i)),
                     0);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n * n; i++)
            expect_bytes(&t, text(key_buffer, sizes[i / n], i % n + 1),
                         text(value_buffer, sizes[i % n], i));
        check(&t);
        cr_assert_eq(count(&t), n * n);
        if (pass == 0)
            cr_assert_eq(restart(&t).records, n * n);
    }
    stop(&t);
}

Test(esh, variable_records_are_updated_and_deleted_and_their_space_comes_back)
{
    struct table t = make(8, false);
    uint32_t size;
    start(&t);

    for (uint32_t round = 0; round < 200; round++)
        for (uint32_t i = 0; i < 100; i++)
            cr_assert_eq(ops->upsert_bytes(t.s, text(key_buffer, 12, i),
                                           text(value_buffer, 2000, round)),
                         0, "40 MB pass through a pool of 8 MB");
    for (uint32_t i = 0; i < 100; i++)
        expect_bytes(&t, text(key_buffer, 12, i), text(value_buffer, 2000, 199));
    cr_assert_eq(ops->insert_bytes(t.s, text(key_buffer, 12, 5), text(value_buffer, 9, 1)),
                 -EEXIST);
    cr_assert_eq(ops->update_bytes(t.s, text(key_buffer, 12, 500), text(value_buffer, 9, 1)),
                 -ENOENT);
    for (uint32_t i = 0; i < 100; i++)
        cr_assert_eq(ops->remove_bytes(t.s, text(key_buffer, 12, i)), 0);

    cr_assert_eq(ops->get_bytes(t.s, text(key_buffer, 12, 5), out, sizeof out, &size), -ENOENT);
    cr_assert_eq(count(&t), 0);
    check(&t);
    stop(&t);
}

Test(esh, different_keys_with_one_hash_are_told_apart)
{
    struct table t = make(4, false);
    t.config.parameters[ESH_HASH_BITS] = 1;
    start(&t);

    for (uint32_t i = 0; i < 40; i++)
        cr_assert_eq(ops->insert_bytes(t.s, text(key_buffer, 20, i), text(value_buffer, 30, i)), 0);

    for (uint32_t i = 0; i < 40; i++)
        expect_bytes(&t, text(key_buffer, 20, i), text(value_buffer, 30, i));
    check(&t);
    stop(&t);
}

Test(esh, sizes_out_of_range_are_refused)
{
    struct table t = make(4, false);
    start(&t);

    cr_assert_eq(ops->insert_bytes(t.s, (struct bytes){out, 0}, (struct bytes){out, 1}), -EINVAL);
    cr_assert_eq(ops->insert_bytes(t.s, (struct bytes){out, 1},
                                   (struct bytes){out, STORE_BYTES_MAX + 1}),
                 -EINVAL);
    stop(&t);
}
