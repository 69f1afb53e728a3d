/* bed.h -- a store on a backend, loaded and ready to be measured.
 *
 *     backend_open -> pool -> store -> pre-load by the native copy, one thread: the same every time
 *
 * The measured copy, whichever it is, goes on with the same handle. Whatever touches the pool runs
 * on a worker, so that a pool whose memory is lost ends in an error (backend_run).
 *
 * Threads: the control thread. Errors: -errno, one line in why.
 */
#ifndef EXPERIMENTS_BED_H
#define EXPERIMENTS_BED_H

#include "backends/backend.h"
#include "core/store.h"
#include "experiments/feed.h"

struct bed_plan {
    const char *store, *spec;
    struct backend_options backend;
    struct store_config config;
    struct feed feed;
    uint64_t records; /* to load; with backend.reuse: those expected, or UINT64_MAX */
};

struct bed {
    const struct bed_plan *plan;
    struct backend *backend;
    struct pool pool;
    bool pool_open;
    struct store *store;
    uint64_t records; /* that are in it now */

    /* Of the last time that an existing pool was opened. */
    bool recovered;
    struct store_recovery found;
    uint64_t recovery_ps; /* opening pool and store, on the clock of the copy that did it */
};

int bed_open(struct bed *bed, const struct bed_plan *plan, char why[BACKEND_WHY_MAX]);
void bed_close(struct bed *bed);

/* Closes pool and store, switches the machine off and on, and opens both anew with target's copy;
 * the window is of the opening. After an error only bed_close() may follow. */
int bed_restart(struct bed *bed, enum target target, enum pass pass, struct window *window,
                char why[BACKEND_WHY_MAX]);

double bed_load(const struct bed *bed); /* records / slots; 0 if the store has no slots */

/* Bytes of the pool's units in use, and of what is allocated in them (pool.h). */
int bed_usage(struct bed *bed, uint64_t *used, uint64_t *allocated, char why[BACKEND_WHY_MAX]);

/* One insert by the given copy, whatever kind of record the feed makes; the buffers have
 * STORE_BYTES_MAX bytes and are not used for fixed records. */
int bed_insert(const struct store_ops *ops, struct store *s, const struct feed *f, uint64_t record,
               void *key_buffer, void *value_buffer);

#endif
