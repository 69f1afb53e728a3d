/* hostile_pools.h -- real pools of ESH, made to be damaged: by test_hostile.c and by fuzz_pool.c.
 *
 *     guard page | the pool's region | guard page | guard page | volatile region | guard page
 *
 * An access one byte past either region is a fault. A pool is its bytes, and what they hold: record
 * id has version[id], 0 if there is none. Keys and values follow from id and version, so whatever a
 * store hands out can be told from what nobody ever wrote.
 *
 * A failure in here is a fault of the test: it prints a line and aborts. Threads: one.
 */
#ifndef TESTS_HOSTILE_POOLS_H
#define TESTS_HOSTILE_POOLS_H

#include "core/store.h"

enum hostile_kind {
    HOSTILE_FIXED,    /* default parameters, depth 4 and more, updates and deletes */
    HOSTILE_LARGE,    /* segments of 16 buckets, probes of 8, no fingerprints */
    HOSTILE_VARIABLE, /* values from 5 bytes to nearly 64 KiB */
    HOSTILE_TORN,     /* a split cut off before its commit */
    HOSTILE_CUT,      /* a split cut off after its commit */
    HOSTILE_FULL,     /* variable: until a record finds no room, then 20 deletes */
    HOSTILE_EMPTY,
    HOSTILE_KINDS,
};

enum {
    HOSTILE_IDS = 1 << 16,
    HOSTILE_FRESH_ID = 60000, /* from here on no pool has records */
    HOSTILE_DRAM = 64 << 20,
    HOSTILE_BIG = 40000,      /* bytes of a value that is an extent of one unit */
    HOSTILE_MAX = STORE_BYTES_MAX,
};

struct hostile_pool {
    enum hostile_kind kind;
    bool fixed;
    uint64_t size;
    char *image;
    uint8_t *version;
    uint32_t records;
    unsigned buckets, segment_count;
    pm_off *segments; /* live ones in the directory's order, then what a torn split left */
    pm_off header;
};

struct hostile_bed {
    struct pm_region memory, dram;
};

struct hostile_bed hostile_bed_open(uint64_t pool_bytes);
void hostile_bed_close(struct hostile_bed *bed);
/* The volatile region reads as zeroes again, as after a restart. */
void hostile_restart(const struct hostile_bed *bed);

/* records: how many are inserted before updates and deletes; _FULL and _EMPTY have their own. */
struct hostile_pool hostile_make(enum hostile_kind kind, uint32_t records);
void hostile_free(struct hostile_pool *p);

/* A record's bytes; the buffers hold HOSTILE_MAX. */
struct bytes hostile_key(bool fixed, uint32_t id, char *buffer);
struct bytes hostile_value(bool fixed, uint32_t id, uint8_t version, char *buffer);

/* The id and version whose bytes these are; id 0: nobody wrote that. */
uint32_t hostile_id(bool fixed, struct bytes key, struct bytes value, uint8_t *version);

enum hostile_put { HOSTILE_INSERT, HOSTILE_UPDATE, HOSTILE_UPSERT };

/* As the store's operations. get: -EBADMSG if the value is not that version's. */
int hostile_put(struct store *s, bool fixed, enum hostile_put how, uint32_t id, uint8_t version);
int hostile_get(struct store *s, bool fixed, uint32_t id, uint8_t version);
int hostile_remove(struct store *s, bool fixed, uint32_t id);

#endif
