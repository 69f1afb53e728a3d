/* runner.h -- from a command line to rows of results: every store x backend x workload x threads.
 *
 *     emul    load (native copy) -> warm-up -> [ measured window, every operation timed ]
 *     dram    throughput pass (no clock, no counter) | latency pass (1 in 16) | counting pass
 *     pmem    each on a fresh load, unless the workload only reads
 *
 * Repeats are interleaved: every backend once, then all again with the next seed, so that what
 * disturbs the machine for a while disturbs all alike. `recover` restarts a loaded store.
 *
 * Threads: the control thread. Errors: -errno and one line; the rows made before stay.
 */
#ifndef EXPERIMENTS_RUNNER_H
#define EXPERIMENTS_RUNNER_H

#include "backends/backend.h"
#include "backends/machine.h"
#include "experiments/crew.h"
#include "experiments/options.h"

enum { RUNNER_QUANTILES = 5, RUNNER_WARM_UP = 200000 };

/* p50 p90 p99 p999 max */
extern const double runner_quantile[RUNNER_QUANTILES];
extern const char *const runner_quantile_name[RUNNER_QUANTILES];

/* A number that may be unknown; then reason says why. */
struct known {
    double value;
    const char *reason;
};

struct row {
    const struct store_ops *ops;
    const char *spec, *backend;
    char profile[64]; /* empty: none */
    const struct workload *workload;
    char distribution[32];
    int column; /* which of --on */
    int threads, second_socket_threads, repeat;
    uint64_t records, operations, seed;
    double key_size;
    uint32_t value_size;
    uint64_t parameters[STORE_PARAMETERS_MAX];
    const char *skipped; /* why the store cannot do it; then nothing below is set */

    double seconds, mops, host_seconds;
    const char *seconds_source;
    double latency_ns[RUNNER_QUANTILES];
    const char *latency_reason; /* NULL: known */
    double load_peak, load_mean, load_end;
    const char *load_reason;
    uint64_t volatile_bytes, payload_bytes, read_payload_bytes, not_found;
    struct window window; /* with the counters */
    struct known wa_lines, wa_imc, wa_device, wa_total, ra_imc, ra_device, ra_total;
    uint64_t pool_bytes, resident_bytes; /* resident: 0 if unknown */
    uint64_t pool_used_bytes, pool_allocated_bytes;

    bool recovered; /* the store was there: by --reuse, or a restart; then found and its time hold */
    struct store_recovery found;
    double recovery_seconds;

    bool persistent; /* native: the pool survives a power cut */
    struct runner_fact {
        const char *name, *reason;
        char value[96]; /* when there is no reason */
    } facts[MACHINE_MEMORY_FACTS]; /* of the memory behind the pool */
    int fact_count;
};

/* What one row is of. */
struct runner_job {
    const struct store_ops *store;
    const char *spec;
    const struct workload *workload;
    int threads, repeat;
    const struct keyfile *file;
    bool again; /* this run has made the spec's file before, and may make it anew */
};

struct rows {
    struct row *row;
    int count, room;
};

/* Runs all. -EINTR: Ctrl-C. -EINVAL: the command line asks for what is not there. */
int runner_run(const struct options *o, struct rows *rows, char *why);
int runner_row(const struct options *o, const struct runner_job *job, struct row *row, char *why);
void rows_free(struct rows *rows);

/* The counter by name, NULL when the window has none of it. */
const struct counter *row_counter(const struct row *row, const char *name);

/* The store that a word names, or NULL with why. */
const struct store_ops *runner_store(const char *name, char *why, size_t why_size);

/* Fills what bed_open() needs, but for pool file and sizes. */
int runner_plan(const struct options *o, const struct store_ops *store, const char *spec,
                int threads, uint64_t seed, const struct keyfile *file, struct bed_plan *plan,
                char *why);

#endif
