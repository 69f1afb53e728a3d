/* crew.c -- plans and workers. */
#include "experiments/crew.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/console.h"

enum { KIND_SHIFT = 56, SAMPLE_EVERY = 1000, SCAN_MOST = 100 };

static const uint64_t record_mask = (UINT64_C(1) << KIND_SHIFT) - 1;

struct worker {
    struct crew *crew;
    struct histogram *latency;
    char *key_buffer, *value_buffer;
    uint64_t payload_bytes, read_payload_bytes, not_found;
    int64_t gained; /* records inserted less records deleted */
    double load_sum, load_peak;
    uint64_t load_samples;
    int error;
    uint64_t failed; /* the word of the operation that failed */
} __attribute__((aligned(128)));

/* ---- plan ----------------------------------------------------------------------------------- */

static uint64_t choose_record(struct key_source *source, const struct schedule *s, uint64_t records,
                              uint64_t operation, uint64_t inserts, enum workload_kind kind)
{
    const uint64_t present = records + schedule_inserts(s, operation);

    switch (kind) {
    case WORKLOAD_INSERT:
        return present;
    case WORKLOAD_DELETE:
        if (s->workload->share[WORKLOAD_DELETE] == WORKLOAD_BLOCK)
            return operation;
        break;
    case WORKLOAD_MISS:
        return records + inserts + operation;
    default:
        break;
    }
    if (present > source->records)
        keys_grow(source, present);
    return keys_next(source);
}

int plan_make(struct plan *p, const struct workload *w, enum key_distribution distribution,
              double theta, uint64_t records, uint64_t operations, int threads, uint64_t seed)
{
    struct schedule s;
    struct key_source source;

    schedule_make(&s, w);
    *p = (struct plan){.workload = w, .operations = operations, .threads = threads};
    p->per_worker = (operations + (uint64_t)threads - 1) / (uint64_t)threads;
    p->inserts = schedule_inserts(&s, operations);
    p->words = calloc(p->per_worker * (uint64_t)threads, sizeof *p->words);
    if (!p->words)
        return -ENOMEM;
    int error = keys_init(&source, distribution, theta, records ? records : 1, seed, 0);
    for (uint64_t i = 0; i < operations && !error; i++) {
        enum workload_kind kind = schedule_kind(&s, i);
        uint64_t record = choose_record(&source, &s, records, i, p->inserts, kind);
        uint64_t place = i % (uint64_t)threads * p->per_worker + i / (uint64_t)threads;
        p->words[place] = (uint64_t)kind << KIND_SHIFT | record;
    }
    if (error)
        plan_free(p);
    return error;
}

void plan_free(struct plan *p)
{
    free(p->words);
    p->words = NULL;
}

/* ---- operations ----------------------------------------------------------------------------- */

static int scan_visit(void *arg, struct bytes key, struct bytes value)
{
    *(uint64_t *)arg += key.size + value.size;
    return 0;
}

static int do_scan(struct worker *w, const struct feed *f, uint64_t record)
{
    const struct crew *c = w->crew;
    uint64_t bytes = 0, count = 1 + key_of(record, f->seed + 1) % SCAN_MOST;
    int error = c->ops->scan(c->bed->store, feed_key(f, record, w->key_buffer), count, scan_visit,
                             &bytes);
    w->read_payload_bytes += bytes;
    return error;
}

static int do_fixed(struct worker *w, enum workload_kind kind, uint64_t record)
{
    const struct crew *c = w->crew;
    const struct store_ops *ops = c->ops;
    struct store *s = c->bed->store;
    uint64_t key = key_of(record, c->bed->plan->feed.seed), value = 0;
    int error;

    switch (kind) {
    case WORKLOAD_INSERT:
        return ops->insert(s, key, feed_fixed_value(key, 0));
    case WORKLOAD_UPDATE:
        return ops->update(s, key, feed_fixed_value(key, record));
    case WORKLOAD_DELETE:
        return ops->remove(s, key);
    case WORKLOAD_MODIFY:
        error = ops->get(s, key, &value);
        return error ? error : ops->update(s, key, value + 1);
    default:
        error = ops->get(s, key, &value);
        if (!error && c->check_values && value != feed_fixed_value(key, 0))
            return -EBADMSG;
        return error;
    }
}

static int do_get_bytes(struct worker *w, struct bytes key, uint64_t record)
{
    const struct crew *c = w->crew;
    const struct feed *f = &c->bed->plan->feed;
    uint32_t size = 0;
    int error = c->ops->get_bytes(c->bed->store, key, w->value_buffer, STORE_BYTES_MAX, &size);

    if (error || !c->check_values)
        return error;
    uint64_t word = feed_fixed_value(record, 0);
    uint32_t compared = f->value_size < 8 ? f->value_size : 8;
    return size == f->value_size && memcmp(w->value_buffer, &word, compared) == 0 ? 0 : -EBADMSG;
}

static int do_variable(struct worker *w, enum workload_kind kind, uint64_t record)
{
    const struct crew *c = w->crew;
    const struct feed *f = &c->bed->plan->feed;
    const struct store_ops *ops = c->ops;
    struct store *s = c->bed->store;
    struct bytes key = kind == WORKLOAD_MISS ? feed_missing_key(f, record, w->key_buffer)
                                             : feed_key(f, record, w->key_buffer);
    int error;

    switch (kind) {
    case WORKLOAD_INSERT:
        return ops->insert_bytes(s, key, feed_value(f, record, 0, w->value_buffer));
    case WORKLOAD_UPDATE:
        return ops->update_bytes(s, key, feed_value(f, record, 1, w->value_buffer));
    case WORKLOAD_DELETE:
        return ops->remove_bytes(s, key);
    case WORKLOAD_MODIFY:
        error = do_get_bytes(w, key, record);
        return error ? error
                     : ops->update_bytes(s, key, feed_value(f, record, 1, w->value_buffer));
    default:
        return do_get_bytes(w, key, record);
    }
}

static uint64_t record_bytes(const struct feed *f, uint64_t record)
{
    uint64_t key = f->file ? f->file->keys[record % f->file->count].size : f->key_size;
    return key + f->value_size;
}

/* Counts what an operation did; 0 when its error is one that the workload expects. */
static int account(struct worker *w, enum workload_kind kind, uint64_t record, int error)
{
    const struct crew *c = w->crew;
    const int *share = c->plan->workload->share;

    if (kind == WORKLOAD_MISS && !error)
        return -EEXIST;
    if (error) {
        bool may_miss = kind == WORKLOAD_MISS || c->lenient || share[WORKLOAD_DELETE] ||
                        (share[WORKLOAD_INSERT] && kind != WORKLOAD_INSERT);
        if (!(error == -ENOENT && may_miss) && !(error == -EEXIST && c->lenient))
            return error;
        w->not_found += error == -ENOENT;
        return 0;
    }
    if (kind == WORKLOAD_INSERT || kind == WORKLOAD_UPDATE || kind == WORKLOAD_MODIFY)
        w->payload_bytes += record_bytes(&c->bed->plan->feed, record);
    if (kind == WORKLOAD_READ || kind == WORKLOAD_MODIFY)
        w->read_payload_bytes += record_bytes(&c->bed->plan->feed, record);
    if (kind == WORKLOAD_INSERT || kind == WORKLOAD_DELETE)
        __atomic_store_n(&w->gained, w->gained + (kind == WORKLOAD_INSERT ? 1 : -1),
                         __ATOMIC_RELAXED);
    return 0;
}

/* ---- workers -------------------------------------------------------------------------------- */

static double load_now(const struct crew *c)
{
    struct store_stats stats = {0};
    int64_t records = (int64_t)c->bed->records;

    c->ops->stats(c->bed->store, &stats);
    for (int i = 0; i < c->plan->threads; i++)
        records += __atomic_load_n(&c->workers[i].gained, __ATOMIC_RELAXED);
    return stats.slots ? (double)records / (double)stats.slots : 0;
}

static void sample_load(struct worker *w)
{
    double load = load_now(w->crew);
    w->load_sum += load;
    w->load_samples++;
    if (load > w->load_peak)
        w->load_peak = load;
}

static int do_one(struct worker *w, uint64_t word)
{
    const struct feed *f = &w->crew->bed->plan->feed;
    const enum workload_kind kind = (enum workload_kind)(word >> KIND_SHIFT);
    const uint64_t record = word & record_mask;
    int error;

    if (kind == WORKLOAD_SCAN)
        error = do_scan(w, f, record);
    else
        error = f->fixed ? do_fixed(w, kind, record) : do_variable(w, kind, record);
    return account(w, kind, record, error);
}

static void crew_worker(void *arg, int self)
{
    struct crew *c = arg;
    struct worker *w = &c->workers[self];
    const struct plan *p = c->plan;
    const uint64_t *words = p->words + (uint64_t)self * p->per_worker;
    const uint64_t mine = (p->operations + (uint64_t)(p->threads - 1 - self)) / (uint64_t)p->threads;
    const bool sample = c->sample && self == 0;

    for (uint64_t j = 0; j < mine; j++) {
        const bool timed = c->time_every && j % (uint64_t)c->time_every == 0;
        const uint64_t start = timed ? backend_now_ps(c->bed->backend) : 0;
        const int error = do_one(w, words[j]);
        if (timed)
            histogram_add(w->latency, backend_done_ps(c->bed->backend) - start);
        if (sample && j % SAMPLE_EVERY == 0)
            sample_load(w);
        if (error) {
            w->error = error;
            w->failed = words[j];
            return;
        }
        if (console_interrupted())
            return;
    }
}

static int make_workers(struct crew *c)
{
    size_t bytes = (size_t)c->plan->threads * sizeof(struct worker);

    c->workers = aligned_alloc(_Alignof(struct worker), bytes);
    if (!c->workers)
        return -ENOMEM;
    memset(c->workers, 0, bytes);
    for (int i = 0; i < c->plan->threads; i++) {
        struct worker *w = &c->workers[i];
        w->crew = c;
        w->latency = calloc(1, sizeof *w->latency);
        w->key_buffer = malloc(STORE_BYTES_MAX);
        w->value_buffer = malloc(STORE_BYTES_MAX);
        if (!w->latency || !w->key_buffer || !w->value_buffer)
            return -ENOMEM;
    }
    return 0;
}

static void free_workers(struct crew *c)
{
    for (int i = 0; c->workers && i < c->plan->threads; i++) {
        free(c->workers[i].latency);
        free(c->workers[i].key_buffer);
        free(c->workers[i].value_buffer);
    }
    free(c->workers);
    c->workers = NULL;
}

static int failure(const struct crew *c, const struct worker *w, char why[BACKEND_WHY_MAX])
{
    static const char *const words[WORKLOAD_KINDS] = {"insert", "read",   "read of an absent key",
                                                      "update", "delete", "read-modify-write",
                                                      "scan"};
    const char *advice = "";

    if (w->error == -ENOSPC)
        advice = "; the pool is full, give a larger --pool-size";
    else if (w->error == -EBADMSG)
        advice = "; the value is not the one stored, so the store is wrong";
    else if (w->error == -ENOENT)
        advice = "; the record was stored, so the store lost it";
    snprintf(why, BACKEND_WHY_MAX, "%s on %s: %s of record %" PRIu64 " failed: %s%s", c->ops->name,
             c->bed->plan->spec, words[w->failed >> KIND_SHIFT], w->failed & record_mask,
             strerror(-w->error), advice);
    return -ECANCELED;
}

static int collect(struct crew *c, char why[BACKEND_WHY_MAX])
{
    histogram_clear(&c->latency);
    for (int i = 0; i < c->plan->threads; i++) {
        const struct worker *w = &c->workers[i];
        if (w->error)
            return failure(c, w, why);
        histogram_merge(&c->latency, w->latency);
        c->payload_bytes += w->payload_bytes;
        c->read_payload_bytes += w->read_payload_bytes;
        c->not_found += w->not_found;
    }
    const struct worker *first = &c->workers[0];
    c->load_end = load_now(c);
    c->load_known = first->load_samples > 0;
    if (c->load_known) {
        c->load_mean = first->load_sum / (double)first->load_samples;
        c->load_peak = first->load_peak > c->load_end ? first->load_peak : c->load_end;
    }
    for (int i = 0; i < c->plan->threads; i++)
        c->bed->records += (uint64_t)c->workers[i].gained;
    return 0;
}

int crew_run(struct crew *c, char why[BACKEND_WHY_MAX])
{
    c->payload_bytes = c->read_payload_bytes = c->not_found = 0;
    int error = make_workers(c);

    if (error)
        snprintf(why, BACKEND_WHY_MAX, "not enough memory for %d workers", c->plan->threads);
    if (!error)
        error = backend_run(c->bed->backend, c->target, c->plan->threads, crew_worker, c, why);
    if (!error && console_interrupted())
        error = -EINTR;
    if (!error)
        error = collect(c, why);
    free_workers(c);
    return error;
}
