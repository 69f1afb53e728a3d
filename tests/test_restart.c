/* test_restart.c -- one pool file, two targets: what one copy wrote the other finds, every record
 * with its value, wherever the file is mapped. And space: a table that is emptied and filled again
 * and again does not grow.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "core/registry.h"

#ifndef RECORDS
#define RECORDS 1000000
#define CHURN_STEP 20000 /* from 100 k to 200 k records: how large a table is decides what splits */
#endif

enum { RECORDS_VARIABLE = RECORDS / 10, SIZES = 300 };

static char folder[64], path[96], pmem[128], why[BACKEND_WHY_MAX];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/pmtwin-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pool", folder);
    snprintf(pmem, sizeof pmem, "pmem:%s", path);
}

static void drop_folder(void)
{
    unlink(path);
    rmdir(folder);
}

TestSuite(restart, .init = make_folder, .fini = drop_folder);

/* One life of the pool: a backend, and what a worker shall do on it. */
struct life {
    const char *store, *spec;
    enum target target;
    bool fixed, create;
    uint64_t pool_bytes, from, to; /* records */
    /* The worker's. */
    struct backend *backend;
    struct pool pool;
    struct store *s;
    struct store_recovery found;
    char fault[POOL_WHY_MAX + 128];
};

static uint64_t word_of(uint64_t record)
{
    return (record + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A record's key or value: 8 .. 8 + SIZES bytes that all depend on it. */
static struct bytes bytes_of(char *buffer, uint64_t record, uint64_t salt)
{
    const uint64_t word = word_of(record) ^ salt;
    const uint32_t size = (uint32_t)(8 + word % SIZES);
    for (uint32_t i = 0; i < size; i++)
        buffer[i] = (char)((word >> 8 * (i % 8)) + i / 8);
    memcpy(buffer, &word, 8);
    return (struct bytes){buffer, size};
}

static int insert(const struct life *l, const struct store_ops *ops, uint64_t record)
{
    char key[8 + SIZES], value[8 + SIZES];
    if (l->fixed)
        return ops->insert(l->s, word_of(record), ~record);
    return ops->insert_bytes(l->s, bytes_of(key, record, 0), bytes_of(value, record, 7));
}

static int remove_record(const struct life *l, const struct store_ops *ops, uint64_t record)
{
    char key[8 + SIZES];
    if (l->fixed)
        return ops->remove(l->s, word_of(record));
    return ops->remove_bytes(l->s, bytes_of(key, record, 0));
}

static bool is_there(const struct life *l, const struct store_ops *ops, uint64_t record)
{
    char key[8 + SIZES], value[8 + SIZES], got[8 + SIZES];
    uint64_t word = 0;
    uint32_t size = 0;
    if (l->fixed)
        return ops->get(l->s, word_of(record), &word) == 0 && word == ~record;
    const struct bytes expected = bytes_of(value, record, 7);
    return ops->get_bytes(l->s, bytes_of(key, record, 0), got, sizeof got, &size) == 0 &&
           size == expected.size && memcmp(got, value, size) == 0;
}

#define FAULT(l, ...) ((void)snprintf((l)->fault, sizeof(l)->fault, __VA_ARGS__))

static void open_both(struct life *l)
{
    const struct store_ops *ops = registry_find(l->store, (int)l->target);
    const struct pool_ops *pools = registry_pool((int)l->target);
    struct store_config config = {.fixed = l->fixed, .records_hint = l->to};
    for (int i = 0; ops->parameters[i].name; i++)
        config.parameters[i] = ops->parameters[i].value;
    char pool_why[POOL_WHY_MAX] = "";
    int error = (l->create ? pools->create : pools->open)(&l->pool, backend_pool(l->backend),
                                                          backend_volatile(l->backend), pool_why);
    if (!error)
        error = l->create ? ops->create(&l->s, &l->pool, &config)
                          : ops->open(&l->s, &l->pool, &l->found);
    if (error)
        FAULT(l, "opening: %s %s", strerror(-error), pool_why);
}

static void close_both(struct life *l)
{
    registry_find(l->store, (int)l->target)->close(l->s);
    registry_pool((int)l->target)->close(&l->pool);
}

static void write_all(void *arg, int self)
{
    struct life *l = arg;
    const struct store_ops *ops = registry_find(l->store, (int)l->target);
    (void)self;
    open_both(l);
    for (uint64_t i = l->from; !l->fault[0] && i < l->to; i++)
        if (insert(l, ops, i) != 0)
            FAULT(l, "record %lu cannot be inserted", (unsigned long)i);
    if (!l->fault[0])
        close_both(l);
}

static void read_all(void *arg, int self)
{
    struct life *l = arg;
    const struct store_ops *ops = registry_find(l->store, (int)l->target);
    (void)self;
    open_both(l);
    for (uint64_t i = l->from; !l->fault[0] && i < l->to; i++)
        if (!is_there(l, ops, i))
            FAULT(l, "record %lu is not there as it was", (unsigned long)i);
    if (!l->fault[0] && l->found.records != l->to - l->from)
        FAULT(l, "%lu records found", (unsigned long)l->found.records);
    if (!l->fault[0])
        ops->audit(l->s, l->fault, sizeof l->fault);
    if (!l->fault[0])
        close_both(l);
}

static void live(struct life *l, void (*worker)(void *arg, int self))
{
    const bool file = l->target == TARGET_EMUL;
    const struct backend_options o = {.pool_bytes = l->pool_bytes,
                                      .volatile_bytes = UINT64_C(1) << 30,
                                      .pool_path = file ? path : NULL,
                                      .reuse = !l->create,
                                      .overwrite = l->create,
                                      .threads = 1,
                                      .node = -1,
                                      .memory_node = -1,
                                      .seed = 1};
    l->spec = file ? "emul" : pmem;
    cr_assert_eq(backend_open(&l->backend, l->spec, &o, why), 0, "%s", why);
    cr_assert_eq(backend_run(l->backend, l->target, 1, worker, l, why), 0, "%s", why);
    backend_close(l->backend);
    cr_assert(!l->fault[0], "%s on %s: %s", l->store, l->spec, l->fault);
}

static void write_then_read(enum target writer, enum target reader, bool fixed, uint64_t records)
{
    struct life one = {.store = "esh",
                       .target = writer,
                       .fixed = fixed,
                       .create = true,
                       .pool_bytes = records * (fixed ? 60 : 900) + (16 << 20),
                       .to = records};
    struct life other = one;
    other.target = reader;
    other.create = false;
    live(&one, write_all);
    live(&other, read_all);
    other.found = (struct store_recovery){0}; /* a second time, as another opening */
    live(&other, read_all);
    cr_assert_eq(other.found.discarded + other.found.reclaimed_bytes, 0);
}

Test(restart, fixed_records_written_native_are_read_emulated)
{
    write_then_read(TARGET_NATIVE, TARGET_EMUL, true, RECORDS);
}

Test(restart, fixed_records_written_emulated_are_read_native)
{
    write_then_read(TARGET_EMUL, TARGET_NATIVE, true, RECORDS);
}

Test(restart, variable_records_written_native_are_read_emulated)
{
    write_then_read(TARGET_NATIVE, TARGET_EMUL, false, RECORDS_VARIABLE);
}

Test(restart, variable_records_written_emulated_are_read_native)
{
    write_then_read(TARGET_EMUL, TARGET_NATIVE, false, RECORDS_VARIABLE);
}

/* ---- space --------------------------------------------------------------------------------------- */

enum { ROUNDS = 10 };

struct churn {
    struct life life;
    bool fresh_keys; /* each round has keys of its own */
    uint64_t first, most;
};

static void churn_worker(void *arg, int self)
{
    struct churn *c = arg;
    struct life *l = &c->life;
    const struct store_ops *ops = registry_find(l->store, (int)l->target);
    (void)self;
    open_both(l);
    for (uint64_t round = 0; !l->fault[0] && round < ROUNDS; round++) {
        const uint64_t from = c->fresh_keys ? round * l->to : 0;
        for (uint64_t i = from; !l->fault[0] && i < from + l->to; i++)
            if (insert(l, ops, i) != 0)
                FAULT(l, "round %lu: record %lu cannot be inserted", (unsigned long)round,
                      (unsigned long)i);
        uint64_t allocated;
        const uint64_t used = registry_pool((int)l->target)->used(&l->pool, &allocated);
        c->first = round ? c->first : used;
        c->most = used > c->most ? used : c->most;
        for (uint64_t i = from; !l->fault[0] && i < from + l->to; i++)
            if (remove_record(l, ops, i) != 0)
                FAULT(l, "round %lu: record %lu cannot be deleted", (unsigned long)round,
                      (unsigned long)i);
        uint64_t left = 0;
        ops->iterate(l->s, store_count, &left);
        if (!l->fault[0] && left)
            FAULT(l, "round %lu: %lu records are left", (unsigned long)round, (unsigned long)left);
        if (!l->fault[0])
            ops->audit(l->s, l->fault, sizeof l->fault);
    }
    if (!l->fault[0])
        close_both(l);
}

static void churn(enum target target, bool fixed, bool fresh_keys, uint64_t records)
{
    struct churn c = {.life = {.store = "esh",
                               .target = target,
                               .fixed = fixed,
                               .create = true,
                               .pool_bytes = records * (fixed ? 60 : 900) + (16 << 20),
                               .to = records},
                      .fresh_keys = fresh_keys};
    live(&c.life, churn_worker);
    cr_log_info("%s, %s keys, %lu records: %lu bytes after the first round, at most %lu (%.3f)",
                fixed ? "fixed" : "variable", fresh_keys ? "fresh" : "the same",
                (unsigned long)records, (unsigned long)c.first, (unsigned long)c.most,
                (double)c.most / (double)c.first);
    cr_assert_leq((double)c.most, 1.1 * (double)c.first);
}

Test(restart, emptied_and_filled_again_a_table_does_not_grow)
{
    for (uint64_t records = 100000; records <= 200000; records += CHURN_STEP)
        churn(TARGET_NATIVE, true, false, records);
    churn(TARGET_NATIVE, false, false, 20000);
    churn(TARGET_EMUL, true, false, 20000);
    churn(TARGET_EMUL, false, false, 10000);
}

Test(restart, with_other_keys_each_time_it_does_not_grow_either)
{
    for (uint64_t records = 100000; records <= 200000; records += CHURN_STEP)
        churn(TARGET_NATIVE, true, true, records);
    churn(TARGET_NATIVE, false, true, 20000);
}
