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

/* Looks at one record: a store made for other sizes must not be called with these. */
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

static int reopen_store(struct bed *bed, const struct store_ops *ops, char why[BACKEND_WHY_MAX])
{
    struct store_recovery found = {0};
    int error = ops->open(&bed->store, &bed->pool, &found);

    if (error) {
        snprintf(why, BACKEND_WHY_MAX, "%s cannot be opened as %s: %s", bed->plan->backend.pool_path,
                 ops->name, error == -EINVAL ? "it holds another store" : strerror(-error));
        return error;
    }
    bed->records = found.records;
    struct look look = {.feed = &bed->plan->feed, .fits = true};
    ops->iterate(bed->store, look_at, &look);
    if (!look.fits) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s holds records of other sizes; give --key-size %" PRIu32 " --value-size %" PRIu32,
                 bed->plan->backend.pool_path, look.key_size, look.value_size);
        return -EINVAL;
    }
    if (bed->plan->records != UINT64_MAX && bed->plan->records != bed->records) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s holds %" PRIu64 " records, not %" PRIu64 "; leave out --records to reuse it",
                 bed->plan->backend.pool_path, bed->records, bed->plan->records);
        return -EINVAL;
    }
    return 0;
}

static int make_store(struct bed *bed, const struct store_ops *ops, char why[BACKEND_WHY_MAX])
{
    int error = ops->create(&bed->store, &bed->pool, &bed->plan->config);

    if (!error)
        return load_records(bed, ops, why);
    snprintf(why, BACKEND_WHY_MAX, "%s cannot be made: %s%s", ops->name, strerror(-error),
             error == -ENOSPC ? "; give a larger --pool-size" : "");
    return error;
}

int bed_open(struct bed *bed, const struct bed_plan *plan, char why[BACKEND_WHY_MAX])
{
    const struct store_ops *ops = registry_find(plan->store, TARGET_NATIVE);
    const struct pool_ops *pools = registry_pool(TARGET_NATIVE);
    char pool_why[POOL_WHY_MAX] = "";

    *bed = (struct bed){.plan = plan};
    int error = backend_open(&bed->backend, plan->spec, &plan->backend, why);
    if (error) {
        bed->backend = NULL;
        return error;
    }
    error = (plan->backend.reuse ? pools->open : pools->create)(
        &bed->pool, backend_pool(bed->backend), backend_volatile(bed->backend), pool_why);
    if (error) {
        snprintf(why, BACKEND_WHY_MAX, "%s: %s", plan->backend.pool_path ? plan->backend.pool_path
                                                                         : "the pool", pool_why);
    } else {
        bed->pool_open = true;
        error = plan->backend.reuse ? reopen_store(bed, ops, why) : make_store(bed, ops, why);
    }
    if (error)
        bed_close(bed);
    return error;
}

void bed_close(struct bed *bed)
{
    if (bed->store)
        registry_find(bed->plan->store, TARGET_NATIVE)->close(bed->store);
    if (bed->pool_open)
        registry_pool(TARGET_NATIVE)->close(&bed->pool);
    if (bed->backend)
        backend_close(bed->backend);
    *bed = (struct bed){.plan = bed->plan};
}
