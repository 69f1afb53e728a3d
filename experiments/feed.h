/* feed.h -- keys and values as bytes: record number in, what the store is given out.
 *
 *     fixed      key_of(record), 8 bytes; the value is the key turned
 *     variable   the same 8 bytes and a filler to key_size; shorter keys are the number, scrambled
 *     key file   the record's line; a key that never was there is the line with its first byte NUL
 *
 * Threads: read-only; each worker passes its own buffer.
 */
#ifndef EXPERIMENTS_FEED_H
#define EXPERIMENTS_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store.h"
#include "experiments/keyfile.h"

struct feed {
    bool fixed;
    uint32_t key_size, value_size;
    uint64_t seed;
    const struct keyfile *file; /* NULL: made keys */
};

/* How many records can have keys of their own. */
uint64_t feed_capacity(const struct feed *f);

uint64_t feed_fixed_value(uint64_t key, uint64_t turn);

/* The record's key; it lies in buffer (STORE_BYTES_MAX bytes) or in the key file. */
struct bytes feed_key(const struct feed *f, uint64_t record, void *buffer);
/* A key that no record has: with a key file made from its line, else the key of a number that
 * nobody inserts. */
struct bytes feed_missing_key(const struct feed *f, uint64_t record, void *buffer);
/* Fills buffer with the record's value; turn distinguishes an update from the insert. */
struct bytes feed_value(const struct feed *f, uint64_t record, uint64_t turn, void *buffer);

#endif
