/* workload.h -- what the workers do: shares of operations, and the schedule that turns an operation's
 * number into its kind and, for an insert, into the number of the new record.
 *
 *     operation   0 ......... 99 | 100 ......... 199 | ..
 *                 one block holds every kind exactly share times, in a shuffled order that is
 *                 rotated anew in every block, so that no thread count meets one kind only
 *
 * The schedule depends on the number alone: any number of workers do the same operations, and the
 * new records are numbered without gaps. ycsb-a .. f: B. F. Cooper et al., SoCC '10, table 2.
 *
 * Threads: read-only once made.
 */
#ifndef EXPERIMENTS_WORKLOAD_H
#define EXPERIMENTS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store.h"
#include "experiments/keys.h"

enum workload_kind {
    WORKLOAD_INSERT,
    WORKLOAD_READ,
    WORKLOAD_MISS, /* a read of a key that was never there */
    WORKLOAD_UPDATE,
    WORKLOAD_DELETE,
    WORKLOAD_MODIFY, /* read, then update */
    WORKLOAD_SCAN,
    WORKLOAD_KINDS
};

enum { WORKLOAD_BLOCK = 100 };

struct workload {
    const char *name, *summary;
    int share[WORKLOAD_KINDS]; /* percent */
    enum key_distribution distribution; /* unless the user says otherwise */
    double theta;
    bool recover; /* no operation: a restart */
};

struct schedule {
    const struct workload *workload;
    uint8_t kind[WORKLOAD_BLOCK];
    uint8_t inserts_before[WORKLOAD_BLOCK + 1];
};

/* All workloads; returns how many. */
int workload_all(const struct workload **all);
const struct workload *workload_find(const char *name);

bool workload_only_reads(const struct workload *w);
bool workload_writes(const struct workload *w); /* it has payload: inserts or updates */

/* NULL if a store can do it, else the reason why not. */
const char *workload_cannot(const struct workload *w, const struct store_ops *ops, bool fixed);

void schedule_make(struct schedule *s, const struct workload *w);
enum workload_kind schedule_kind(const struct schedule *s, uint64_t operation);
/* Inserts among operations 0 .. operation-1. */
uint64_t schedule_inserts(const struct schedule *s, uint64_t operation);

#endif
