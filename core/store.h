/* store.h -- the face of every store: one table of operations per store and target.
 *
 * A store module ends with  const struct store_ops PM_NAME(esh) = { ... };  and so exists as
 * esh_native, esh_counted and esh_emul. registry.c lists them. A NULL operation means "cannot".
 *
 * A table is made for one kind of record: fixed (key_size and value_size 8: 64-bit words, every one
 * legal, 0 and ~0 too) or variable (keys and values of 1 .. 65536 bytes). Only that kind's
 * operations may be called on it.
 *
 * The handle (struct store) is ordinary memory and the same on every target: a store that was
 * opened and loaded by one copy may go on in another, when no operation is under way.
 *
 * Threads: operations may run at once from any worker; create, open, close, iterate and audit need
 * the store to themselves. An operation that returned 0 is durable and visible.
 */
#ifndef CORE_STORE_H
#define CORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pool.h"

struct store;

enum { STORE_PARAMETERS_MAX = 16, STORE_BYTES_MAX = 65536 };

/* A parameter that --set NAME=VALUE can change. */
struct store_parameter {
    const char *name, *what; /* what: one line, with the unit */
    uint64_t value, min, max;
    const char *const *words; /* names of the values 0, 1, ..; NULL: a number */
    bool power_of_two;        /* of a number: the others in min .. max are refused */
};

struct store_config {
    bool fixed;               /* 8-byte keys and values, inline */
    uint64_t records_hint;    /* how many records will come; 0: unknown */
    uint64_t parameters[STORE_PARAMETERS_MAX]; /* in the order of store_ops.parameters */
};

/* Read without events, so that looking does not change what is measured. */
struct store_stats {
    uint64_t slots;          /* records that fit into the buckets allocated now */
    uint64_t segments;       /* 0 if the store has none */
    uint64_t splits;         /* since open */
    uint64_t volatile_bytes; /* shared DRAM in use */
};

/* What open found. */
struct store_recovery {
    uint64_t records, segments, discarded, reclaimed_bytes;
};

struct bytes {
    const void *data;
    uint32_t size;
};

typedef int store_visit(void *arg, struct bytes key, struct bytes value); /* nonzero stops */

/* A visit that counts records: arg is a uint64_t. */
static inline int store_count(void *arg, struct bytes key, struct bytes value)
{
    uint64_t *count = arg;
    (void)key, (void)value;
    ++*count;
    return 0;
}

struct store_ops {
    const char *name, *summary;
    const struct store_parameter *parameters; /* ends with a NULL name */
    bool fixed, variable;                     /* which kinds of record it can hold */

    /* Bytes of pool that so many records need at the worst moment; sizes are averages. */
    uint64_t (*pool_bytes)(const struct store_config *config, uint64_t records,
                           uint32_t key_size, uint32_t value_size);

    /* Makes an empty store in a fresh pool. -ENOSPC, -ENOMEM, -EINVAL. */
    int (*create)(struct store **s, struct pool *pool, const struct store_config *config);
    /* Recovers the store in an existing pool. -EIO: it is damaged; -ENOMEM; -EINVAL: another
     * store's pool. */
    int (*open)(struct store **s, struct pool *pool, struct store_recovery *found);
    void (*close)(struct store *s);

    /* Fixed records. insert: -EEXIST, -ENOSPC, -EOVERFLOW (more equal hashes than fit: see the
     * store). get, update, remove: -ENOENT. upsert: insert or update; -ENOSPC. */
    int (*insert)(struct store *s, uint64_t key, uint64_t value);
    int (*get)(struct store *s, uint64_t key, uint64_t *value);
    int (*update)(struct store *s, uint64_t key, uint64_t value);
    int (*upsert)(struct store *s, uint64_t key, uint64_t value);
    int (*remove)(struct store *s, uint64_t key);

    /* Variable records. get copies at most capacity bytes and returns the size it has. */
    int (*insert_bytes)(struct store *s, struct bytes key, struct bytes value);
    int (*get_bytes)(struct store *s, struct bytes key, void *value, uint32_t capacity,
                     uint32_t *size);
    int (*update_bytes)(struct store *s, struct bytes key, struct bytes value);
    int (*upsert_bytes)(struct store *s, struct bytes key, struct bytes value);
    int (*remove_bytes)(struct store *s, struct bytes key);

    /* Every record once, in no order; returns what visit returned, or 0. Fixed keys and values
     * arrive as 8 bytes. */
    int (*iterate)(struct store *s, store_visit *visit, void *arg);
    /* Records with key >= from in key order. NULL: keys have no order. */
    int (*scan)(struct store *s, struct bytes from, uint64_t count, store_visit *visit, void *arg);

    void (*stats)(const struct store *s, struct store_stats *stats);
    /* Checks every invariant and that reachable and allocated space agree. 0, or -EIO with a
     * sentence in why. */
    int (*audit)(struct store *s, char *why, size_t why_size);
    /* Says where a pool offset lies, for explain: "segment 12, bucket 3, byte 40". */
    void (*locate)(const struct store *s, pm_off offset, char *text, size_t text_size);
};

#endif
