/* esh_table.h -- for the tests of ESH: a table in anonymous memory, and what they all do to it.
 *
 * "After a restart" closes pool and table, wipes the volatile region, and opens both again from the
 * persistent bytes alone.
 */
#ifndef TESTS_ESH_TABLE_H
#define TESTS_ESH_TABLE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/esh.h"

extern const struct store_ops esh_native;
static const struct store_ops *const ops = &esh_native;

struct table {
    struct pm_region memory, dram;
    struct pool pool;
    struct store_config config;
    struct store *s;
};

static inline struct pm_region map(uint64_t size, enum pm_kind kind)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(base, MAP_FAILED);
    return (struct pm_region){.base = base, .size = size, .kind = kind};
}

static inline struct table make(uint64_t mib, bool fixed)
{
    struct table t = {.config = {.fixed = fixed}};
    t.memory = map(mib << 20, PM_PERSISTENT);
    t.dram = map(UINT64_C(1) << 30, PM_VOLATILE);
    for (int i = 0; i < ESH_PARAMETERS; i++)
        t.config.parameters[i] = ops->parameters[i].value;
    return t;
}

static inline void start(struct table *t)
{
    char why[POOL_WHY_MAX] = "";
    cr_assert_eq(pool_create(&t->pool, &t->memory, &t->dram, why), 0, "%s", why);
    cr_assert_eq(ops->create(&t->s, &t->pool, &t->config), 0);
}

static inline void check(struct table *t)
{
    char why[256] = "";
    cr_assert_eq(ops->audit(t->s, why, sizeof why), 0, "%s", why);
}

static inline void stop(struct table *t)
{
    ops->close(t->s);
    pool_close(&t->pool);
    munmap(t->memory.base, t->memory.size);
    munmap(t->dram.base, t->dram.size);
}

static inline struct store_recovery restart(struct table *t)
{
    char why[POOL_WHY_MAX] = "";
    struct store_recovery found;

    ops->close(t->s);
    pool_close(&t->pool);
    munmap(t->dram.base, t->dram.size);
    t->dram = map(UINT64_C(1) << 30, PM_VOLATILE);
    cr_assert_eq(pool_open(&t->pool, &t->memory, &t->dram, why), 0, "%s", why);
    cr_assert_eq(ops->open(&t->s, &t->pool, &found), 0);
    return found;
}

static inline void insert_range(struct table *t, uint64_t from, uint64_t to)
{
    for (uint64_t key = from; key < to; key++)
        cr_assert_eq(ops->insert(t->s, key, ~key), 0, "key %lu", (unsigned long)key);
}

static inline void expect_range(struct table *t, uint64_t from, uint64_t to)
{
    for (uint64_t key = from; key < to; key++) {
        uint64_t value = 0;
        cr_assert_eq(ops->get(t->s, key, &value), 0, "key %lu", (unsigned long)key);
        cr_assert_eq(value, ~key);
    }
}

static inline struct esh_bucket *first_segment(struct table *t)
{
    const pm_off offset = pm_load(&t->s->directory->entries[0]);
    return (struct esh_bucket *)(t->memory.base + offset);
}

static inline struct esh_bucket *second_segment(struct table *t)
{
    const pm_off offset = pm_load(&t->s->directory->entries[1]);
    return (struct esh_bucket *)(t->memory.base + offset);
}

#endif
