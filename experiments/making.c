/* making.c -- one row: what it is of, its beds and passes, and what each pass gives it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry.h"
#include "experiments/console.h"
#include "experiments/row.h"
#include "experiments/runner.h"

enum { LATENCY_EVERY = 16 };

static const uint64_t pool_spare = UINT64_C(64) << 20;

/* Everything one row needs while it is made. */
struct making {
    const struct options *o;
    struct row *row;
    struct bed_plan plan;
    struct plan operations, warm_up;
    const struct store_ops *store;
    bool only_reads;
    bool again; /* a file that pmem names was made by this run */
};

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
    if (w->recover)
        return 0;
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

    row->backend = info->kind;
    row->persistent = info->persistent;
    snprintf(row->profile, sizeof row->profile, "%s", info->profile ? info->profile : "");
    row->seconds_source = info->emulated ? "model" : "clock_gettime";
    row->pool_bytes = backend_pool(bed->backend)->size;
    row->second_socket_threads = info->emulated && row->threads > info->cores_per_socket
                                     ? row->threads - info->cores_per_socket
                                     : 0;
    const struct machine_fact *facts;
    row->fact_count = backend_facts(bed->backend, &facts);
    for (int i = 0; i < row->fact_count; i++) {
        struct runner_fact *f = &row->facts[i];
        *f = (struct runner_fact){.name = facts[i].name, .reason = facts[i].reason};
        snprintf(f->value, sizeof f->value, "%s", facts[i].value ? facts[i].value : "");
    }
}

static void take_recovery(struct row *row, const struct bed *bed)
{
    row->recovered = bed->recovered;
    row->found = bed->found;
    row->recovery_seconds = (double)bed->recovery_ps * 1e-12;
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

static const char *const no_latency = "a recovery is one operation; seconds is its time";

/* A restart of a bed that is ready. */
static int measure_recovery(struct making *m, struct bed *bed, enum pass pass, char *why)
{
    const bool emulated = backend_info(bed->backend)->emulated;
    const enum target target = emulated ? TARGET_EMUL
                               : pass == PASS_COUNTING ? TARGET_COUNTED
                                                       : TARGET_NATIVE;
    struct row *row = m->row;
    struct window window;
    struct crew *none = calloc(1, sizeof *none);
    int error = none ? bed_restart(bed, target, pass, &window, why) : -ENOMEM;

    if (!error) {
        *none = crew_for(m, bed, target);
        none->load_end = none->load_mean = none->load_peak = bed_load(bed);
        none->load_known = true;
        if (pass == PASS_THROUGHPUT) {
            row->operations = bed->found.records;
            take_throughput(row, none, &window);
            take_recovery(row, bed);
        }
        if (emulated || pass == PASS_COUNTING || row->window.counter_count == 0)
            row->window = window;
        take_load(row, none);
        row->latency_reason = no_latency;
    }
    free(none);
    return error;
}

static bool is_pmem(const char *spec)
{
    return strncmp(spec, "pmem:", 5) == 0;
}

static int on_fresh_bed(struct making *m, const char *pool_path, const enum pass *passes, int count,
                        char *why)
{
    const bool kept = pool_path || is_pmem(m->plan.spec);
    struct bed bed;

    m->plan.backend.pool_path = pool_path;
    m->plan.backend.reuse = kept && m->o->reuse;
    m->plan.backend.overwrite = kept && (m->o->overwrite || (!pool_path && m->again));
    console_progress("%s on %s: loading %" PRIu64 " records", m->store->name, m->plan.spec,
                     m->plan.records);
    int error = bed_open(&bed, &m->plan, why);
    if (error)
        return error;
    m->again = !m->o->reuse;
    take_identity(m->row, &bed);
    take_recovery(m->row, &bed);
    console_progress("%s on %s: %s, %" PRIu64 " operations", m->store->name, m->plan.spec,
                     m->row->workload->name, m->row->operations);
    for (int i = 0; i < count && !error; i++)
        error = m->row->workload->recover ? measure_recovery(m, &bed, passes[i], why)
                                          : measure(m, &bed, passes[i], why);
    if (!error)
        error = bed_usage(&bed, &m->row->pool_used_bytes, &m->row->pool_allocated_bytes, why);
    bed_close(&bed);
    return error;
}

/* The passes in an order that leaves a kept pool in the state after the measured operations. */
static int make_passes(struct making *m, char *why)
{
    static const enum pass counting = PASS_COUNTING, latency = PASS_LATENCY, timed = PASS_THROUGHPUT;
    static const enum pass all[] = {PASS_THROUGHPUT, PASS_LATENCY, PASS_COUNTING};
    static const enum pass restarts[] = {PASS_THROUGHPUT, PASS_COUNTING};
    const char *path = m->o->pool_path;
    int error = 0;

    if (strncmp(m->plan.spec, "emul", 4) == 0)
        return on_fresh_bed(m, path, &timed, 1, why);
    if (m->row->workload->recover)
        return on_fresh_bed(m, path, restarts, 2, why);
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

    if (row->workload->recover)
        return 0;
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

/* NULL, or why there is nothing to measure. */
static const char *cannot(const struct making *m)
{
    if (m->row->workload->recover && m->row->threads > 1)
        return "recovery runs on one thread";
    return workload_cannot(m->row->workload, m->store, m->plan.feed.fixed);
}

int runner_row(const struct options *o, const struct runner_job *job, struct row *row, char *why)
{
    const struct workload *workload = job->workload;
    struct making m = {.o = o, .row = row, .store = job->store, .again = job->again};
    enum key_distribution distribution =
        o->distribution_given ? o->distribution : workload->distribution;
    double theta = o->distribution_given ? o->theta : workload->theta;

    *row = (struct row){.ops = job->store, .workload = workload, .backend = job->spec};
    m.only_reads = workload_only_reads(workload);
    name_distribution(row, distribution, theta);
    int error = identify(&m, job->file, job->spec, job->threads, job->repeat, why);
    if (error)
        return error;
    const char *colon = strchr(job->spec, ':');
    row->backend = strncmp(job->spec, "emul", 4) == 0 ? "emul" : is_pmem(job->spec) ? "pmem" : "dram";
    snprintf(row->profile, sizeof row->profile, "%s",
             colon && !is_pmem(job->spec) ? colon + 1 : "");
    row->skipped = cannot(&m);
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
