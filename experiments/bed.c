/* bed.c -- see bed.h. */
#include "experiments/bed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"
#include "experiments/console.h"
#include "experiments/keys.h"

_Static_assert((int)REGISTRY_NATIVE == TARGET_NATIVE && (int)REGISTRY_COUNTED == TARGET_COUNTED &&
                   (int)REGISTRY_EMUL == TARGET_EMUL,
               "a target indexes the registry");

struct load {
    struct bed *bed;
    const struct store_ops *ops;
    char *key_buffer, *value_buffer;
    uint64_t done;
    int error;
};

int bed_insert(const struct store_ops *ops, struct store *s, const struct feed *f, uint64_t record,
               void *key_buffer, void *value_buffer)
{
    if (f->fixed) {
        uint64_t key = key_of(record, f->seed);
        return ops->insert(s, key, feed_fixed_value(key, 0));
    }
    return ops->insert_bytes(s, feed_key(f, record, key_buffer),
                             feed_value(f, record, 0, value_buffer));
}

static void load_worker(void *arg, int self)
{
    struct load *l = arg;
    const struct bed_plan *plan = l->bed->plan;

    (void)self;
    while (l->done < plan->records && !l->error && !console_interrupted()) {
        l->error = bed_insert(l->ops, l->bed->store, &plan->feed, l->done, l->key_buffer,
                              l->value_buffer);
        if (!l->error)
            l->done++;
    }
}

static int load_records(struct bed *bed, const struct store_ops *ops, char why[BACKEND_WHY_MAX])
{
    struct load load = {.bed = bed, .ops = ops};

    load.key_buffer = malloc(STORE_BYTES_MAX);
    load.value_buffer = malloc(STORE_BYTES_MAX);
    int error = load.key_buffer && load.value_buffer ? 0 : -ENOMEM;
    if (error)
        snprintf(why, BACKEND_WHY_MAX, "not enough memory to load records");
    else
        error = backend_run(bed->backend, TARGET_NATIVE, 1, load_worker, &load, why);
    free(load.key_buffer);
    free(load.value_buffer);
    if (!error && load.error) {
        error = -ECANCELED;
        snprintf(why, BACKEND_WHY_MAX, "%s: loading record %" PRIu64 " failed: %s%s", ops->name,
                 load.done, strerror(-load.error),
                 load.error == -ENOSPC ? "; give a larger --pool-size or fewer --records" : "");
    } else if (!error && console_interrupted()) {
        error = -EINTR;
    }
    bed->records = load.done;
    return error;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The first record of a store that was there: one made for other sizes must not be called. */
struct look {
    const struct feed *feed;
    uint32_t key_size, value_size;
    bool fits;
};

static int look_at(void *arg, struct bytes key, struct bytes value)
{
    struct look *look = arg;
    look->key_size = key.size;
    look->value_size = value.size;
    look->fits = (look->feed->file || key.size == look->feed->key_size) &&
                 value.size == look->feed->value_size;
    return 1;
}

/* What a worker does to pool and store, and how it went. */
struct opening {
    struct bed *bed;
    enum target target;
    int error;
    char why[BACKEND_WHY_MAX];
};

static const char *pool_name(const struct bed *bed)
{
    const char *colon = strchr(bed->plan->spec, ':');
    if (bed->plan->backend.pool_path)
        return bed->plan->backend.pool_path;
    return strncmp(bed->plan->spec, "pmem:", 5) == 0 ? colon + 1 : "the pool";
}

static void open_existing(void *arg, int self)
{
    struct opening *o = arg;
    struct bed *bed = o->bed;
    const struct store_ops *ops = registry_find(bed->plan->store, (int)o->target);
    const uint64_t start = backend_now_ps(bed->backend);
    char pool_why[POOL_WHY_MAX] = "";

    (void)self;
    o->error = registry_pool((int)o->target)
                   ->open(&bed->pool, backend_pool(bed->backend), backend_volatile(bed->backend),
                          pool_why);
    if (o->error) {
        snprintf(o->why, sizeof o->why, "%s: %s", pool_name(bed), pool_why);
        return;
    }
    bed->pool_open = true;
    o->error = ops->open(&bed->store, &bed->pool, &bed->found);
    bed->recovery_ps = backend_done_ps(bed->backend) - start;
    if (o->error) {
        bed->store = NULL;
        snprintf(o->why, sizeof o->why, "%s cannot be opened as %s: %s", pool_name(bed), ops->name,
                 o->error == -EINVAL ? "it holds another store"
                 : o->error == -EIO  ? "the store in it is damaged"
                                     : strerror(-o->error));
        return;
    }
    bed->recovered = true;
    bed->records = bed->found.records;
}

static void open_new(void *arg, int self)
{
    struct opening *o = arg;
    struct bed *bed = o->bed;
    const struct store_ops *ops = registry_find(bed->plan->store, (int)o->target);
    char pool_why[POOL_WHY_MAX] = "";

    (void)self;
    o->error = registry_pool((int)o->target)
                   ->create(&bed->pool, backend_pool(bed->backend), backend_volatile(bed->backend),
                            pool_why);
    if (o->error) {
        snprintf(o->why, sizeof o->why, "%s: %s", pool_name(bed), pool_why);
        return;
    }
    bed->pool_open = true;
    o->error = ops->create(&bed->store, &bed->pool, &bed->plan->config);
    if (!o->error)
        return;
    bed->store = NULL;
    snprintf(o->why, sizeof o->why, "%s cannot be made: %s%s", ops->name, strerror(-o->error),
             o->error == -ENOSPC ? "; give a larger --pool-size" : "");
}

static void close_both(void *arg, int self)
{
    struct opening *o = arg;
    struct bed *bed = o->bed;

    (void)self;
    if (bed->store)
        registry_find(bed->plan->store, TARGET_NATIVE)->close(bed->store);
    if (bed->pool_open)
        registry_pool(TARGET_NATIVE)->close(&bed->pool);
    bed->store = NULL;
    bed->pool_open = false;
}

/* Lets one worker of the target's kind do it. */
static int let(struct bed *bed, enum target target, void (*work)(void *arg, int self),
               char why[BACKEND_WHY_MAX])
{
    struct opening o = {.bed = bed, .target = target};
    const int error = backend_run(bed->backend, target, 1, work, &o, why);
    if (!error && o.error)
        snprintf(why, BACKEND_WHY_MAX, "%s", o.why);
    return error ? error : o.error;
}

static void look_worker(void *arg, int self)
{
    struct opening *o = arg;
    struct bed *bed = o->bed;
    struct look look = {.feed = &bed->plan->feed, .fits = true};

    (void)self;
    registry_find(bed->plan->store, TARGET_NATIVE)->iterate(bed->store, look_at, &look);
    if (look.fits)
        return;
    o->error = -EINVAL;
    snprintf(o->why, sizeof o->why,
             "%s holds records of other sizes; give --key-size %" PRIu32 " --value-size %" PRIu32,
             pool_name(bed), look.key_size, look.value_size);
}

static int reopen_store(struct bed *bed, char why[BACKEND_WHY_MAX])
{
    int error = let(bed, TARGET_NATIVE, open_existing, why);
    if (!error)
        error = let(bed, TARGET_NATIVE, look_worker, why);
    if (error)
        return error;
    if (bed->plan->records != UINT64_MAX && bed->plan->records != bed->records) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s holds %" PRIu64 " records, not %" PRIu64 "; leave out --records to reuse it",
                 pool_name(bed), bed->records, bed->plan->records);
        return -EINVAL;
    }
    return 0;
}

int bed_open(struct bed *bed, const struct bed_plan *plan, char why[BACKEND_WHY_MAX])
{
    *bed = (struct bed){.plan = plan};
    int error = backend_open(&bed->backend, plan->spec, &plan->backend, why);
    if (error) {
        bed->backend = NULL;
        return error;
    }
    if (plan->backend.reuse) {
        error = reopen_store(bed, why);
    } else {
        error = let(bed, TARGET_NATIVE, open_new, why);
        if (!error)
            error = load_records(bed, registry_find(plan->store, TARGET_NATIVE), why);
    }
    if (error)
        bed_close(bed);
    return error;
}

void bed_close(struct bed *bed)
{
    char why[BACKEND_WHY_MAX];
    if (bed->backend) {
        let(bed, TARGET_NATIVE, close_both, why); /* lost pool memory: what it held is leaked */
        backend_close(bed->backend);
    }
    *bed = (struct bed){.plan = bed->plan};
}

int bed_restart(struct bed *bed, enum target target, enum pass pass, struct window *window,
                char why[BACKEND_WHY_MAX])
{
    int error = let(bed, TARGET_NATIVE, close_both, why);
    if (!error)
        error = backend_restart(bed->backend, why);
    if (error)
        return error;
    backend_begin(bed->backend, pass);
    error = let(bed, target, open_existing, why);
    backend_end(bed->backend, window);
    return error;
}

double bed_load(const struct bed *bed)
{
    struct store_stats stats = {0};
    registry_find(bed->plan->store, TARGET_NATIVE)->stats(bed->store, &stats);
    return stats.slots ? (double)bed->records / (double)stats.slots : 0;
}

struct usage {
    const struct bed *bed;
    uint64_t used, allocated;
};

static void usage_worker(void *arg, int self)
{
    struct usage *u = arg;
    (void)self;
    u->used = registry_pool(TARGET_NATIVE)->used(&u->bed->pool, &u->allocated);
}

int bed_usage(struct bed *bed, uint64_t *used, uint64_t *allocated, char why[BACKEND_WHY_MAX])
{
    struct usage u = {.bed = bed};
    const int error = backend_run(bed->backend, TARGET_NATIVE, 1, usage_worker, &u, why);
    *used = u.used;
    *allocated = u.allocated;
    return error;
}
