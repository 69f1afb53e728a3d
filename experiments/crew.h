/* crew.h -- the workers of one run: the operations planned beforehand, done by T workers, counted.
 *
 *     plan    every operation in one word (kind, record), made before the clock starts; worker i has
 *             operations i, i+T, i+2T, .. next to each other in memory
 *     crew    runs a plan on a bed with one copy of the store, once
 *
 * What an operation is depends on its number, never on T. A failed operation stops its worker; what
 * a workload expects (a miss of read-miss, a record deleted before) is counted as not_found.
 *
 * Threads: each worker writes its own struct; the control thread reads when all have ended.
 */
#ifndef EXPERIMENTS_CREW_H
#define EXPERIMENTS_CREW_H

#include "experiments/bed.h"
#include "experiments/histogram.h"
#include "experiments/workload.h"

struct plan {
    const struct workload *workload;
    uint64_t *words; /* kind << 56 | record */
    uint64_t operations, per_worker, inserts;
    int threads;
};

struct worker; /* crew.c */

struct crew {
    struct bed *bed;
    const struct plan *plan;
    const struct store_ops *ops;
    enum target target;
    int time_every;    /* 0: no clock; 1: every operation; 16: one in 16 */
    bool sample;       /* worker 0 samples the load factor */
    bool check_values; /* nothing changes: a read must give what was loaded */
    bool lenient;      /* records may be missing: found by --reuse, or none loaded */
    struct worker *workers;
    /* Results. */
    struct histogram latency; /* picoseconds */
    uint64_t payload_bytes, read_payload_bytes, not_found;
    double load_peak, load_mean, load_end;
    bool load_known;
};

/* The operations of a workload over records 0 .. records-1; new ones follow. -ENOMEM. */
int plan_make(struct plan *p, const struct workload *w, enum key_distribution distribution,
              double theta, uint64_t records, uint64_t operations, int threads, uint64_t seed);
void plan_free(struct plan *p);

/* Runs it and fills the results. A failed operation: -ECANCELED, and the line in why. */
int crew_run(struct crew *c, char why[BACKEND_WHY_MAX]);

#endif
