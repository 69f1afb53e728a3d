/* bench.c -- the emulator's own speed, as ratios taken in one run.
 *
 * Both sides of a ratio run BENCH_REPEATS times in turn, and the least host time of each counts:
 * what else the machine does only ever adds time.
 *
 *     slowdown           host time of the measured operations emulated / native on dram, one thread
 *     threads64_over_1   host time per operation with 64 simulated threads / with one (64-core
 *                        profile)
 *     accesses           host time of an operation on dram / one dependent random access to as much
 *                        memory as the table has, timed between the runs; the least of each
 *     host_ns_per_event  host time of the emulated operations / door words they executed
 *     device             the device model alone, random 64 B accesses over 16 GiB
 *     added memory       resident bytes of the emulated run less those of the native one, which has
 *                        the same pool, store and plan
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "backends/device.h"
#include "backends/machine.h"
#include "core/registry.h"
#include "experiments/commands.h"
#include "experiments/console.h"
#include "experiments/report.h"

enum { BENCH_REPEATS = 3, BENCH_THREADS = 64, BENCH_DEVICE_ACCESSES = 20000000 };

enum figure {
    INSERT_SLOWDOWN,
    READ_SLOWDOWN,
    THREADS64_INSERT,
    THREADS64_READ,
    INSERT_ACCESSES,
    READ_ACCESSES,
    ACCESS_NS,
    NS_PER_EVENT,
    DEVICE_MACCESSES,
    ADDED_MEMORY,
    FIGURES,
};

struct bench {
    struct known figure[FIGURES];
};

static const struct figure_words {
    const char *key, *name, *unit; /* of JSON; of the table's line, whose number is value / per */
    double per;
} figure_words[FIGURES] = {
    [INSERT_SLOWDOWN] = {"insert_slowdown", "insert, emulated / native", "x host time", 1},
    [READ_SLOWDOWN] = {"read_slowdown", "read, emulated / native", "x host time", 1},
    [THREADS64_INSERT] = {"threads64_over_1_insert", "insert, 64 threads / 1",
                          "x host time per operation", 1},
    [THREADS64_READ] = {"threads64_over_1_read", "read, 64 threads / 1",
                        "x host time per operation", 1},
    [INSERT_ACCESSES] = {"insert_memory_accesses", "insert on dram", "dependent accesses", 1},
    [READ_ACCESSES] = {"read_memory_accesses", "read on dram", "dependent accesses", 1},
    [ACCESS_NS] = {"memory_access_ns", "a dependent random access", "ns", 1},
    [NS_PER_EVENT] = {"host_ns_per_event", "one event (inserts)", "ns host time", 1},
    [DEVICE_MACCESSES] = {"device_random_maccesses_per_s", "device alone, random 64 B",
                          "M accesses/s", 1},
    [ADDED_MEMORY] = {"added_memory_bytes", "memory added by the emulator", "MiB", 1 << 20},
};

struct bench_rows {
    struct row above, below;
};

struct bench_events {
    struct bed *bed;
    const struct plan *plan;
    uint64_t count;
};

static int run_row(const struct options *o, const char *spec, const char *workload, int threads,
                   struct row *row, char *why)
{
    const struct store_ops *esh = registry_find("esh", REGISTRY_NATIVE);

    console_progress("bench: %s on %s, %d thread%s", workload, spec, threads,
                     threads == 1 ? "" : "s");
    const struct runner_job job = {
        .store = esh, .spec = spec, .workload = workload_find(workload), .threads = threads};
    return runner_row(o, &job, row, why);
}

static struct known over(double above, double below)
{
    if (!(below > 0))
        return (struct known){.reason = "the clock saw no time pass; give more --operations"};
    return (struct known){.value = above / below};
}

struct side {
    const struct options *o;
    const char *spec;
    int threads;
};

/* The row of the side's first run, with the least host time of all. */
static int run_side(const struct side *side, const char *workload, int repeat, struct row *row,
                    char *why)
{
    struct row again;
    int error = run_row(side->o, side->spec, workload, side->threads, repeat ? &again : row, why);

    if (!error && repeat && again.host_seconds < row->host_seconds)
        row->host_seconds = again.host_seconds;
    return error;
}

/* What an access to as much memory as the row's table has costs now; *least: the least so far. */
static int time_access(const struct row *row, double *least, char *why)
{
    double ns = 0;
    int error = machine_access_ns(row->pool_used_bytes, row->seed, &ns);

    if (error)
        snprintf(why, BACKEND_WHY_MAX, "not enough memory for the chain of accesses");
    else if (*least <= 0 || ns < *least)
        *least = ns;
    return error;
}

/* access_ns: where the least time of a dependent access goes, measured beside `below`; or NULL. */
static int bench_ratio(const char *workload, const struct side *above, const struct side *below,
                       struct bench_rows *rows, struct known *ratio, double *access_ns, char *why)
{
    int error = 0;

    for (int i = 0; i < BENCH_REPEATS && !error; i++) {
        error = run_side(below, workload, i, &rows->below, why);
        if (!error && access_ns)
            error = time_access(&rows->below, access_ns, why);
        if (!error)
            error = run_side(above, workload, i, &rows->above, why);
    }
    if (!error)
        *ratio = over(rows->above.host_seconds, rows->below.host_seconds);
    return error;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_event(void *arg, const struct backend_event *e)
{
    struct bench_events *events = arg;
    (void)e;
    events->count++;
}

/* The events of the operations that runner_row() timed: the same seed gives the same operations. */
static int count_events(const struct options *o, uint64_t *count, char *why)
{
    const struct store_ops *native = registry_find("esh", REGISTRY_NATIVE);
    struct bed_plan bed_plan;
    struct bed bed;
    struct plan plan = {0};
    struct bench_events events = {0};
    struct crew *crew = calloc(1, sizeof *crew);
    const uint64_t records = o->records < 100000 ? o->records : 100000;
    int error = crew ? runner_plan(o, native, "emul:optane-100", 1, o->seed, NULL, &bed_plan, why)
                     : -ENOMEM;

    if (!error) {
        bed_plan.records = records;
        bed_plan.config.records_hint = records + o->operations;
        bed_plan.backend.pool_bytes =
            native->pool_bytes(&bed_plan.config, records + o->operations, 8, 8) + (64 << 20);
        error = plan_make(&plan, workload_find("insert"), KEYS_UNIFORM, 0, records, o->operations, 1,
                          o->seed);
    }
    if (!error)
        error = bed_open(&bed, &bed_plan, why);
    if (!error) {
        *crew = (struct crew){.bed = &bed,
                              .plan = &plan,
                              .ops = registry_find("esh", REGISTRY_EMUL),
                              .target = TARGET_EMUL};
        backend_trace(bed.backend, count_event, &events);
        error = crew_run(crew, why);
        backend_trace(bed.backend, NULL, NULL);
        bed_close(&bed);
    }
    plan_free(&plan);
    free(crew);
    *count = events.count;
    return error;
}

static int bench_events(const struct options *o, struct known *result, char *why)
{
    struct options small = *o;
    struct row row;
    uint64_t events = 0;

    if (small.records > 100000)
        small.records = 100000;
    if (small.operations > 200000)
        small.operations = 200000;
    int error = run_row(&small, "emul:optane-100", "insert", 1, &row, why);
    if (!error)
        error = count_events(&small, &events, why);
    if (!error)
        *result = over(row.host_seconds * 1e9, (double)events);
    return error;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct known added_memory(const struct row *emul, const struct row *dram)
{
    if (!emul->resident_bytes || !dram->resident_bytes)
        return (struct known){.reason = "/proc/self/statm cannot be read"};
    if (emul->resident_bytes < dram->resident_bytes)
        return (struct known){.reason = "the emulated run was smaller: memory freed in between"};
    return (struct known){.value = (double)(emul->resident_bytes - dram->resident_bytes)};
}

static double ns_per_operation(const struct row *row)
{
    return row->host_seconds * 1e9 / (double)row->operations;
}

static int bench_ratios(const struct options *o, struct bench *b, char *why)
{
    struct options wide = *o;
    const struct side dram = {o, "dram", 1}, emul = {o, "emul:optane-100", 1},
                      one = {&wide, "emul:optane-100", 1},
                      many = {&wide, "emul:optane-100", BENCH_THREADS};
    struct known *f = b->figure;
    struct bench_rows rows;
    double access_ns = 0;

    wide.profile_sets[0] = "cores=64";
    wide.profile_set_count = 1;
    int error = bench_ratio("insert", &emul, &dram, &rows, &f[INSERT_SLOWDOWN], &access_ns, why);
    const double insert_ns = ns_per_operation(&rows.below);
    if (!error)
        f[ADDED_MEMORY] = added_memory(&rows.above, &rows.below);
    if (!error)
        error = bench_ratio("read", &emul, &dram, &rows, &f[READ_SLOWDOWN], &access_ns, why);
    if (!error) {
        f[ACCESS_NS] = (struct known){.value = access_ns};
        f[INSERT_ACCESSES] = over(insert_ns, access_ns);
        f[READ_ACCESSES] = over(ns_per_operation(&rows.below), access_ns);
        error = bench_ratio("insert", &many, &one, &rows, &f[THREADS64_INSERT], NULL, why);
    }
    if (!error)
        error = bench_ratio("read", &many, &one, &rows, &f[THREADS64_READ], NULL, why);
    return error;
}

static int bench_all(const struct options *o, struct bench *b, char *why)
{
    double ns = 0;
    int error = bench_ratios(o, b, why);

    if (!error)
        error = bench_events(o, &b->figure[NS_PER_EVENT], why);
    console_progress("bench: the device alone");
    if (!error)
        error = device_random("optane-100", UINT64_C(16) << 30, BENCH_DEVICE_ACCESSES, o->seed, &ns,
                              why, BACKEND_WHY_MAX);
    if (!error)
        b->figure[DEVICE_MACCESSES] = over(1e3, ns);
    return error;
}

static void print_json(FILE *out, const struct options *o, const struct bench *b)
{
    struct json_object *object = json_object_new_object(), *reasons = json_object_new_object();

    json_object_object_add(object, "schema", json_object_new_int(1));
    json_object_object_add(object, "records", json_object_new_uint64(o->records));
    json_object_object_add(object, "operations", json_object_new_uint64(o->operations));
    for (int i = 0; i < FIGURES; i++)
        report_known(object, reasons, figure_words[i].key, &b->figure[i]);
    json_object_object_add(object, "reasons", reasons);
    json_object_object_add(object, "environment", report_environment());
    report_json_object(out, object);
}

static void print_table(FILE *out, const struct options *o, const struct bench *b)
{
    fprintf(out, "esh, 8-byte pairs, %" PRIu64 " records, %" PRIu64 " operations\n", o->records,
            o->operations);
    for (int i = 0; i < FIGURES; i++) {
        const struct figure_words *w = &figure_words[i];
        const struct known *k = &b->figure[i];

        if (k->reason)
            fprintf(out, "  %-34s unknown: %s\n", w->name, k->reason);
        else
            fprintf(out, "  %-34s %.2f %s\n", w->name, k->value / w->per, w->unit);
    }
}

int command_bench(const struct options *o, FILE *out, char *why)
{
    struct bench b = {0};

    if (o->word_count) {
        snprintf(why, BACKEND_WHY_MAX, "bench takes no word, not '%s'; leave it out", o->words[0]);
        return -EINVAL;
    }
    int error = bench_all(o, &b, why);
    console_clear();
    if (error)
        return error;
    if (o->format == FORMAT_JSON)
        print_json(out, o, &b);
    else
        print_table(out, o, &b);
    return 0;
}
