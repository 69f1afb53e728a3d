/* bed.h -- a store on a backend, loaded and ready to be measured.
 *
 *     backend_open -> pool -> store -> pre-load by the native copy, one thread: the same every time
 *
 * The measured copy, whichever it is, goes on with the same handle.
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
};

int bed_open(struct bed *bed, const struct bed_plan *plan, char why[BACKEND_WHY_MAX]);
void bed_close(struct bed *bed);

/* One insert by the given copy, whatever kind of record the feed makes; the buffers have
 * STORE_BYTES_MAX bytes and are not used for fixed records. */
int bed_insert(const struct store_ops *ops, struct store *s, const struct feed *f, uint64_t record,
               void *key_buffer, void *value_buffer);

#endif
