/* runner.c -- one row after the other. */
#include "backends/nearest.h"
#include "experiments/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry.h"
#include "experiments/console.h"
#include "experiments/row.h"

enum { LATENCY_EVERY = 16 };

static const uint64_t pool_spare = UINT64_C(64) << 20, volatile_space = UINT64_C(16) << 30;

/* Everything one row needs while it is made. */
struct making {
    const struct options *o;
    struct row *row;
    struct bed_plan plan;
    struct plan operations, warm_up;
    const struct store_ops *store;
    bool only_reads;
};

const struct store_ops *runner_store(const char *name, char *why, size_t why_size)
{
    const struct store_ops *ops = registry_find(name, REGISTRY_NATIVE);
    const char *names[OPTIONS_LIST_MAX];
    int count = 0;

    if (ops)
        return ops;
    for (; count < registry_count() && count < OPTIONS_LIST_MAX; count++)
        names[count] = registry_store(count, REGISTRY_NATIVE)->name;
    const char *near = nearest_name(name, names, (size_t)count);
    snprintf(why, why_size, "there is no store '%s'; %s%s%s", name,
             near ? "did you mean '" : "see pmtwin list stores", near ? near : "",
             near ? "'?" : "");
    return NULL;
}

int runner_plan(const struct options *o, const struct store_ops *store, const char *spec,
                int threads, uint64_t seed, const struct keyfile *file, struct bed_plan *plan,
                char *why)
{
    *plan = (struct bed_plan){.store = store->name, .spec = spec};
    plan->backend = (struct backend_options){.pool_bytes = o->pool_bytes,
                                             .volatile_bytes = volatile_space,
                                             .threads = threads,
                                             .node = o->node,
                                             .memory_node = -1,
                                             .profile_sets = o->profile_sets,
                                             .profile_set_count = o->profile_set_count,
                                             .seed = seed};
    plan->feed = (struct feed){.key_size = o->key_size, .value_size = o->value_size, .seed = seed,
                               .file = file};
    plan->feed.fixed = !file && o->key_size == 8 && o->value_size == 8 && store->fixed;
    plan->config.fixed = plan->feed.fixed;
    return options_parameters(o, store, plan->config.parameters, why, BACKEND_WHY_MAX);
}

/* ---- a row's identity ------------------------------------------------------------------------ */

static void name_distribution(struct row *row, enum key_distribution distribution, double theta)
{
    if (distribution == KEYS_UNIFORM)
        snprintf(row->distribution, sizeof row->distribution, "uniform");
    else
        snprintf(row->distribution, sizeof row->distribution, "%s:%g",
                 distribution == KEYS_LATEST ? "latest" : "zipfian", theta);
}

static uint64_t inserts_of(const struct workload *w, uint64_t operations)
{
    struct schedule s;
    schedule_make(&s, w);
    return schedule_inserts(&s, operations);
}

/* With a key file every key is used once unless the user says otherwise. */
static int settle_counts(struct making *m, char *why)
{
    const struct options *o = m->o;
    const struct feed *f = &m->plan.feed;
    struct row *row = m->row;

    row->operations = f->file && !o->operations_given ? f->file->count : o->operations;
    uint64_t inserts = inserts_of(row->workload, row->operations);
    row->records = f->file && !o->records_given && inserts <= f->file->count
                       ? f->file->count - inserts
                       : o->records;
    uint64_t needed = row->records + inserts;
    if (row->workload->share[WORKLOAD_MISS] && !f->file)
        needed += row->operations;
    if (needed <= feed_capacity(f))
        return 0;
    snprintf(why, BACKEND_WHY_MAX,
             "%s needs %" PRIu64 " different keys and there are %" PRIu64
             "; give %s or fewer --records and --operations",
             row->workload->name, needed, feed_capacity(f),
             f->file ? "more --keys" : "a larger --key-size");
    return -EINVAL;
}

static void settle_pool(struct making *m)
{
    const struct row *row = m->row;
    struct bed_plan *plan = &m->plan;
    const struct feed *f = &plan->feed;
    uint32_t key_size = f->key_size;
    uint64_t records = row->records + inserts_of(row->workload, row->operations);

    if (f->file)
        key_size = (uint32_t)((f->file->total_bytes + f->file->count - 1) / f->file->count);
    plan->config.records_hint = records;
    if (!plan->backend.pool_bytes)
        plan->backend.pool_bytes =
            m->store->pool_bytes(&plan->config, records, key_size, f->value_size) + pool_spare;
    plan->records = row->records;
}

static int identify(struct making *m, const struct keyfile *file, const char *spec, int threads,
                    int repeat, char *why)
{
    const struct options *o = m->o;
    struct row *row = m->row;

    row->seed = o->seed + (uint64_t)repeat;
    row->spec = spec;
    row->threads = threads;
    row->repeat = repeat;
    row->value_size = o->value_size;
    row->key_size = file ? (double)file->total_bytes / (double)file->count : o->key_size;
    int error = runner_plan(o, m->store, spec, threads, row->seed, file, &m->plan, why);
    if (!error)
        error = settle_counts(m, why);
    if (error)
        return error;
    memcpy(row->parameters, m->plan.config.parameters, sizeof row->parameters);
    settle_pool(m);
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static uint64_t resident_bytes(void)
{
    unsigned long long size = 0, resident = 0;
    FILE *in = fopen("/proc/self/statm", "r");

    if (!in)
        return 0;
    if (fscanf(in, "%llu %llu", &size, &resident) != 2)
        resident = 0;
    fclose(in);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct crew crew_for(struct making *m, struct bed *bed, enum target target)
{
    return (struct crew){.bed = bed,
                         .plan = &m->operations,
                         .ops = registry_find(m->store->name, (int)target),
                         .target = target,
                         .lenient = m->o->reuse || m->row->records == 0};
}

/* Brings the caches into the state of a running machine. */
static int warm_up(struct making *m, struct bed *bed, enum target target, char *why)
{
    struct crew *crew = malloc(sizeof *crew);

    if (!crew) {
        snprintf(why, BACKEND_WHY_MAX, "not enough memory for the warm-up");
        return -ENOMEM;
    }
    *crew = crew_for(m, bed, target);
    crew->plan = &m->warm_up;
    int error = m->warm_up.operations ? crew_run(crew, why) : 0;
    free(crew);
    return error;
}

static void take_identity(struct row *row, const struct bed *bed)
{
    const struct backend_info *info = backend_info(bed->backend);

    row->backend = info->emulated ? "emul" : "dram";
    snprintf(row->profile, sizeof row->profile, "%s", info->profile ? info->profile : "");
    row->seconds_source = info->emulated ? "model" : "clock_gettime";
    row->pool_bytes = backend_pool(bed->backend)->size;
    row->second_socket_threads = info->emulated && row->threads > info->cores_per_socket
                                     ? row->threads - info->cores_per_socket
                                     : 0;
}

static void take_throughput(struct row *row, const struct crew *c, const struct window *w)
{
    row->seconds = (double)w->elapsed_ps * 1e-12;
    row->mops = w->elapsed_ps ? (double)row->operations / ((double)w->elapsed_ps * 1e-6) : 0;
    row->host_seconds = w->host_seconds;
    row->payload_bytes = c->payload_bytes;
    row->read_payload_bytes = c->read_payload_bytes;
    row->not_found = c->not_found;
    row->resident_bytes = resident_bytes();
}

static void take_latency(struct row *row, const struct crew *c)
{
    row->latency_reason = c->latency.count ? NULL : "no operation was timed";
    for (int i = 0; i < RUNNER_QUANTILES; i++)
        row->latency_ns[i] = (double)histogram_quantile(&c->latency, runner_quantile[i]) / 1000;
}

static void take_load(struct row *row, const struct crew *c)
{
    struct store_stats stats = {0};

    c->ops->stats(c->bed->store, &stats);
    row->volatile_bytes = stats.volatile_bytes;
    row->load_peak = c->load_peak;
    row->load_mean = c->load_mean;
    row->load_end = c->load_end;
    row->load_reason = !stats.slots     ? "the store does not say how many slots it has"
                       : !c->load_known ? "the load factor is not sampled in a throughput pass"
                                        : NULL;
}

/* One pass on a bed that is ready; takes from it what this pass is for. */
static int measure(struct making *m, struct bed *bed, enum pass pass, char *why)
{
    const bool emulated = backend_info(bed->backend)->emulated;
    const enum target target = emulated ? TARGET_EMUL
                               : pass == PASS_COUNTING ? TARGET_COUNTED
                                                       : TARGET_NATIVE;
    struct window window;
    struct crew *crew = malloc(sizeof *crew);
    int error = crew ? warm_up(m, bed, target, why) : -ENOMEM;

    if (error) {
        free(crew);
        return error;
    }
    *crew = crew_for(m, bed, target);
    crew->time_every = emulated ? 1 : pass == PASS_LATENCY ? LATENCY_EVERY : 0;
    crew->sample = emulated || pass == PASS_COUNTING;
    crew->check_values = m->only_reads && !m->o->reuse;
    backend_begin(bed->backend, pass);
    error = crew_run(crew, why);
    backend_end(bed->backend, &window);
    if (!error && pass == PASS_THROUGHPUT)
        take_throughput(m->row, crew, &window);
    if (!error && (emulated || pass == PASS_LATENCY))
        take_latency(m->row, crew);
    if (!error && (emulated || pass == PASS_COUNTING)) {
        m->row->window = window;
        take_load(m->row, crew);
    } else if (!error && m->row->window.counter_count == 0) {
        m->row->window = window; /* with the reasons why nothing was counted */
        take_load(m->row, crew);
    }
    free(crew);
    return error;
}

static int on_fresh_bed(struct making *m, const char *pool_path, const enum pass *passes, int count,
                        char *why)
{
    struct bed bed;

    m->plan.backend.pool_path = pool_path;
    m->plan.backend.reuse = pool_path && m->o->reuse;
    m->plan.backend.overwrite = pool_path && m->o->overwrite;
    console_progress("%s on %s: loading %" PRIu64 " records", m->store->name, m->plan.spec,
                     m->plan.records);
    int error = bed_open(&bed, &m->plan, why);
    if (error)
        return error;
    take_identity(m->row, &bed);
    console_progress("%s on %s: %s, %" PRIu64 " operations", m->store->name, m->plan.spec,
                     m->row->workload->name, m->row->operations);
    for (int i = 0; i < count && !error; i++)
        error = measure(m, &bed, passes[i], why);
    bed_close(&bed);
    return error;
}

/* The passes in an order that leaves a kept pool in the state after the measured operations. */
static int make_passes(struct making *m, char *why)
{
    static const enum pass counting = PASS_COUNTING, latency = PASS_LATENCY, timed = PASS_THROUGHPUT;
    static const enum pass all[] = {PASS_THROUGHPUT, PASS_LATENCY, PASS_COUNTING};
    const char *path = m->o->pool_path;
    int error = 0;

    if (strncmp(m->plan.spec, "emul", 4) == 0)
        return on_fresh_bed(m, path, &timed, 1, why);
    if (m->only_reads)
        return on_fresh_bed(m, path, all, 3, why);
    m->row->latency_reason = "a pool that is reused and written to is measured in one pass";
    if (!m->o->reuse)
        error = on_fresh_bed(m, NULL, &counting, 1, why);
    if (!error && !m->o->reuse)
        error = on_fresh_bed(m, NULL, &latency, 1, why);
    return error ? error : on_fresh_bed(m, path, &timed, 1, why);
}

/* How many records a reused pool holds is known only when it is open. */
static int settle_reuse(struct making *m, char *why)
{
    struct bed bed;

    if (!m->o->reuse)
        return 0;
    m->plan.backend.pool_path = m->o->pool_path;
    m->plan.backend.reuse = true;
    if (!m->o->records_given)
        m->plan.records = UINT64_MAX;
    int error = bed_open(&bed, &m->plan, why);
    if (error)
        return error;
    m->row->records = m->plan.records = bed.records;
    bed_close(&bed);
    return 0;
}

static int make_plans(struct making *m, enum key_distribution distribution, double theta, char *why)
{
    const struct row *row = m->row;
    const struct workload *reads = workload_find("read");
    uint64_t warm = row->records < RUNNER_WARM_UP ? row->records : RUNNER_WARM_UP;

    if (workload_cannot(reads, m->store, m->plan.feed.fixed))
        warm = 0;
    int error = plan_make(&m->operations, row->workload, distribution, theta, row->records,
                          row->operations, row->threads, row->seed);
    if (!error)
        error = plan_make(&m->warm_up, reads, distribution, theta, row->records, warm, row->threads,
                          ~row->seed);
    if (error)
        snprintf(why, BACKEND_WHY_MAX, "not enough memory to plan %" PRIu64
                 " operations; give fewer --operations", row->operations);
    return error;
}

int runner_row(const struct options *o, const struct store_ops *store, const char *spec,
               const struct workload *workload, int threads, int repeat,
               const struct keyfile *file, struct row *row, char *why)
{
    struct making m = {.o = o, .row = row, .store = store};
    enum key_distribution distribution =
        o->distribution_given ? o->distribution : workload->distribution;
    double theta = o->distribution_given ? o->theta : workload->theta;

    *row = (struct row){.ops = store, .workload = workload, .backend = spec};
    m.only_reads = workload_only_reads(workload);
    name_distribution(row, distribution, theta);
    int error = identify(&m, file, spec, threads, repeat, why);
    if (error)
        return error;
    row->backend = strncmp(spec, "emul", 4) == 0 ? "emul" : "dram";
    snprintf(row->profile, sizeof row->profile, "%s", strchr(spec, ':') ? strchr(spec, ':') + 1 : "");
    row->skipped = workload_cannot(workload, store, m.plan.feed.fixed);
    if (row->skipped)
        return 0;
    error = settle_reuse(&m, why);
    if (!error)
        error = make_plans(&m, distribution, theta, why);
    if (!error)
        error = make_passes(&m, why);
    plan_free(&m.operations);
    plan_free(&m.warm_up);
    if (!error)
        row_amplify(row);
    return error;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static struct row *next_row(struct rows *rows)
{
    if (rows->count == rows->room) {
        int room = rows->room ? rows->room * 2 : 16;
        struct row *more = realloc(rows->row, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        rows->row = more;
        rows->room = room;
    }
    return &rows->row[rows->count];
}

struct stores {
    const struct store_ops *ops[OPTIONS_LIST_MAX];
    int count;
};

static int find_stores(const struct options *o, struct stores *stores, char *why)
{
    char name[64];

    if (o->word_count != 1) {
        snprintf(why, BACKEND_WHY_MAX, "%s; give run STORE[,STORE..], see pmtwin list stores",
                 o->word_count ? "run takes one list of stores" : "run needs a store");
        return -EINVAL;
    }
    for (const char *rest = o->words[0]; rest;) {
        size_t length = strcspn(rest, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, rest);
        if (stores->count == OPTIONS_LIST_MAX) {
            snprintf(why, BACKEND_WHY_MAX, "more than %d stores; split the run", OPTIONS_LIST_MAX);
            return -EINVAL;
        }
        stores->ops[stores->count] = runner_store(name, why, BACKEND_WHY_MAX);
        if (!stores->ops[stores->count++])
            return -EINVAL;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return 0;
}

/* A kind of backend that is nearly right is suggested; the rest is backend_check()'s. */
static int check_kind(const char *spec, char *why)
{
    static const char *const kinds[] = {"emul", "dram"};
    char kind[64];

    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(spec, ":"), spec);
    const char *near = nearest_name(kind, kinds, 2);
    if (!near || strcmp(near, kind) == 0)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "there is no backend '%s'; did you mean '%s'?", kind, near);
    return -EINVAL;
}

/* Everything that can be refused before the first row is. */
static int check_all(const struct options *o, const struct stores *stores, char *why)
{
    struct bed_plan plan;
    int rows = stores->count * o->on_count * o->workload_count * o->thread_count * o->repeat;

    if (o->pool_path && rows != 1) {
        snprintf(why, BACKEND_WHY_MAX,
                 "--pool keeps the pool of one row and this run has %d; give one store, backend, "
                 "workload and thread count",
                 rows);
        return -EINVAL;
    }
    for (int s = 0; s < stores->count; s++)
        for (int b = 0; b < o->on_count; b++)
            for (int t = 0; t < o->thread_count; t++) {
                int error = runner_plan(o, stores->ops[s], o->on[b], o->threads[t], o->seed, NULL,
                                        &plan, why);
                if (!error)
                    error = check_kind(o->on[b], why);
                if (!error)
                    error = backend_check(o->on[b], &plan.backend, why);
                if (error)
                    return error;
            }
    return 0;
}

/* The rows of one store and workload, backends next to each other. */
static int run_group(const struct options *o, const struct store_ops *store,
                     const struct workload *workload, const struct keyfile *file, struct rows *rows,
                     char *why)
{
    for (int t = 0; t < o->thread_count; t++)
        for (int repeat = 0; repeat < o->repeat; repeat++)
            for (int b = 0; b < o->on_count; b++) {
                struct row *row = next_row(rows);
                if (!row) {
                    snprintf(why, BACKEND_WHY_MAX, "not enough memory for the results");
                    return -ENOMEM;
                }
                int error = runner_row(o, store, o->on[b], workload, o->threads[t], repeat, file,
                                       row, why);
                if (error)
                    return error;
                rows->count++;
            }
    return 0;
}

int runner_run(const struct options *o, struct rows *rows, char *why)
{
    struct stores stores = {0};
    struct keyfile file = {0};
    int error = find_stores(o, &stores, why);

    if (!error)
        error = check_all(o, &stores, why);
    if (!error && o->keys_path)
        error = keyfile_open(&file, o->keys_path, why, BACKEND_WHY_MAX);
    for (int s = 0; s < stores.count && !error; s++)
        for (int w = 0; w < o->workload_count && !error; w++)
            error = run_group(o, stores.ops[s], o->workloads[w], o->keys_path ? &file : NULL, rows,
                              why);
    console_clear();
    if (o->keys_path)
        keyfile_close(&file);
    return error;
}
