/* linear.c -- linear probing: the first index to read. docs/FIRST_INDEX.md walks through it.
 *
 *   extent | group 0 | group 1 | ..      group | lock | slot 0 | .. | slot 510 |    64 XPLines
 *   slot   | mark | key | value | - |    32 B, so it lies in one line
 *
 * A hash names a group and a slot in it; the record lies there or further on, round the group.
 * Durability order: key, value, mark. They share a line, and stores to one line reach memory in
 * order, so one flush does. The mark commits an insert and a remove, the value an update.
 * Threads: one lock per group, for readers too. Nobody holds two. */
#include <errno.h>
#include <stdlib.h>
#include "core/hash.h"
#include "core/lock.h"
#include "core/store.h"

enum { SLOTS = 511, FILL = 384 }; /* filled to 3/4 on average, a group is full at 6 deviations */
enum mark { FRESH, LIVE, DEAD };  /* a search goes on past the dead, and ends at the fresh */
enum what { GET, INSERT, UPDATE, REMOVE };
struct slot { uint64_t mark, key, value, pad_; };
struct group { uint64_t lock, pad_[3]; struct slot slots[SLOTS]; };
struct store { struct pool *pool; struct group PM *first; uint64_t groups; };

/* The slot that holds key, or NULL. *room: the first that a new record could take. */
static struct slot PM *find(struct group PM *g, uint64_t hash, uint64_t key, struct slot PM **room)
{
    uint64_t mark = LIVE;
    for (uint64_t i = 0; i < SLOTS && mark != FRESH; i++) {
        struct slot PM *slot = &g->slots[(hash + i) % SLOTS];
        mark = pm_load(&slot->mark);
        if (mark == LIVE && pm_load(&slot->key) == key)
            return slot;
        if (mark != LIVE && !*room)
            *room = slot;
    }
    return NULL;
}

static void write(struct slot PM *slot, enum what what, uint64_t key, uint64_t value)
{
    if (what == INSERT)
        pm_store(&slot->key, key);
    if (what != REMOVE)
        pm_store_release(&slot->value, value);
    if (what != UPDATE)
        pm_store_release(&slot->mark, what == INSERT ? LIVE : DEAD);
    pm_persist(slot, sizeof *slot);
}

static int one(struct store *s, enum what what, uint64_t key, uint64_t *value)
{
    const uint64_t hash = hash_murmur_word(key);
    struct group PM *g = s->first + (hash >> 32) % s->groups;
    struct slot PM *room = NULL;
    lock_acquire(&g->lock, s->pool->generation);
    struct slot PM *slot = find(g, hash, key, &room);
    pm_use(); /* hit or miss: no predictor knows */
    const int missing = slot ? 0 : -ENOENT, taken = slot ? -EEXIST : room ? 0 : -ENOSPC;
    const int error = what == INSERT ? taken : missing;
    if (!error && what == GET)
        *value = pm_load(&slot->value);
    else if (!error)
        write(what == INSERT ? room : slot, what, key, *value);
    lock_release(&g->lock, s->pool->generation);
    return error;
}

static int get(struct store *s, uint64_t k, uint64_t *v) { return one(s, GET, k, v); }
static int insert(struct store *s, uint64_t k, uint64_t v) { return one(s, INSERT, k, &v); }
static int update(struct store *s, uint64_t k, uint64_t v) { return one(s, UPDATE, k, &v); }
static int drop(struct store *s, uint64_t k) { return one(s, REMOVE, k, &k); }

static int iterate(struct store *s, store_visit *visit, void *arg)
{
    int stop = 0;
    for (uint64_t i = 0; i < s->groups * SLOTS && !stop; i++) {
        struct slot copy;
        pm_read(&copy, &s->first[i / SLOTS].slots[i % SLOTS], sizeof copy);
        if (copy.mark == LIVE)
            stop = visit(arg, (struct bytes){&copy.key, 8}, (struct bytes){&copy.value, 8});
    }
    return stop;
}

static uint64_t bytes_for(const struct store_config *c, uint64_t records, uint32_t k, uint32_t v)
{
    return (void)c, (void)k, (void)v, (records / FILL + 1) * sizeof(struct group) + (2 << 20);
}
static void stats(const struct store *s, struct store_stats *to)
{
    *to = (struct store_stats){.slots = s->groups * SLOTS};
}

static void close_table(struct store *s) { free(s); }
static int open_table(struct store **out, struct pool *pool, struct store_recovery *found)
{
    pm_off extent;
    uint64_t size;
    const int error = pool_single_find(pool, "linear", &extent, &size);
    if (error || !(*out = malloc(sizeof **out)))
        return error ? error : -ENOMEM;
    **out = (struct store){pool, pm_at(&pool->memory, extent), size / sizeof(struct group)};
    if (!found) /* create: there are none to count */
        return 0;
    *found = (struct store_recovery){0};
    return iterate(*out, store_count, &found->records);
}
static int create(struct store **out, struct pool *pool, const struct store_config *c)
{
    const uint64_t size = (c->records_hint / FILL + 1) * sizeof(struct group);
    const int error = c->fixed ? pool_single_make(pool, "linear", size) : -EINVAL;
    return error ? error : open_table(out, pool, NULL);
}

const struct store_ops PM_NAME(linear) = {
    .name = "linear", .summary = "linear probing, the worked example of docs/FIRST_INDEX.md",
    .parameters = &(const struct store_parameter){0}, .fixed = true,
    .pool_bytes = bytes_for, .create = create, .open = open_table, .close = close_table, .get = get,
    .insert = insert, .update = update, .remove = drop, .iterate = iterate, .stats = stats};
