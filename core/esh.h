/* esh.h -- ESH, an extendible hash table for persistent memory: what the files esh*.c share.
 *
 *   volatile                          persistent
 *   directory: entry[low bits] ---->  segment: bucket 0 | bucket 1 | bucket 2 | bucket 3
 *                                     bucket:  256 B = one XPLine
 *
 *   byte 0      8       16               30   31   32        48               256
 *        | lock | state | 14 fingerprints |OFRB| OC | slot 0 | slot 1 | .. slot 13 |
 *        `------------------------- line 0 -------------------------'
 *   state, the commit word:  63 pattern 34 | 33 depth+1 28 | 27 check 14 | 13 allocated 0
 *
 *   allocated  slot holds a record
 *   check      of the other bits and the bucket's number: recovery refuses a word that is damaged
 *   depth      low hash bits that all records of the segment share; 0 in the field: no segment
 *   pattern    those bits
 *   OFRB       bit d-1: a record of mine lies d buckets further (1..7); bit 7 is OB: some do
 *   OC         how many records of mine lie in other buckets
 *
 * What commits. One 8-byte release store each, made durable before the lock is let go:
 *   insert  state of the record's bucket, with the slot's bit     delete  .. without it
 *   update  the slot's value (variable records: the offset of a new blob)
 *   split   state of bucket 0 of the old segment, with the depth raised
 *   merge   state of bucket 0 of the lower segment, with the depth lowered (both are empty)
 *
 * Durability order
 *   insert  blob and pair, flush, fence; state, persist. A pair in line 0 shares the state's line;
 *           stores to one line reach memory in order (Intel SDM 3A, 8.2), so one flush does.
 *   overflow  the same in the neighbour. The home bucket gets hints only, so although two XPLines
 *           are dirty, one store decides.
 *   split   new segment complete, flush, fence; then the commit above, persist; then the other
 *           buckets' states, persist. Before the commit the new segment is covered by the old one
 *           and recovery drops it; after it, records that do not match their segment are stale.
 *   A lock is let go after the persist, so what a reader can see is durable.
 *
 * Damage. Recovery opens a table only if every commit word, blob's first word, header and
 * descriptor passes its check, the segments cover every hash once, and no lock word is of the
 * future. Keys and values themselves carry no check.
 *
 * Hints: lock, fingerprints, OFRB, OB, OC. Never flushed on purpose; recovery computes them anew.
 *
 * Threads. Every writer locks the key's home bucket; one that changes a neighbour locks it second,
 * by trying, and gives both up when it fails. A split locks all buckets in order. So each key has
 * one lock, and nobody waits while holding a higher bucket's. Readers take no lock: they read the
 * home bucket's version before and after, and again if it moved. A record of that home cannot
 * appear, move or vanish without it. Variable keys and values are reclaimed by epochs.
 *
 * The directory doubles in place: low bits index it, so the larger one is the smaller one twice,
 * and the depth is published last. A reader with the old depth is at worst sent to a segment whose
 * state does not cover its hash, and looks again.
 *
 * Too many equal hashes end in -EOVERFLOW: a split is tried only if some record in reach differs
 * from the new one in a bit that the directory may still use (esh_split.c).
 *
 * Source: Regassa, Yeom, Hwang, "ESH", Applied Sciences 13:11528 (2023). Theirs: bucket, segment,
 * OB/OFRB/OC, overflow before split, locks, volatile directory. Ours, where the paper is silent:
 * docs/ESH.md lists each decision. Fingerprints are Dash's (Lu et al., VLDB 13(8), 2020).
 */
#ifndef CORE_ESH_H
#define CORE_ESH_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/epoch.h"
#include "core/hash.h"
#include "core/pool.h"
#include "core/store.h"

enum {
    ESH_SLOTS = 14,
    ESH_ALL = (1 << ESH_SLOTS) - 1,
    ESH_BUCKETS_MAX = 64, /* 16 KiB, the segment of CCEH and Dash */
    ESH_PROBE_MAX = 8,    /* OFRB names 7 neighbours */
    ESH_DEPTH_MAX = 30,   /* the pattern's bits in the state word */
    ESH_NAME_BYTES = 16,
};

/* Whose the pool's blocks are. */
enum { ESH_TAG_HEADER = 1, ESH_TAG_SEGMENT = 2, ESH_TAG_BLOB = 3 };

enum { ESH_BUCKETS, ESH_PROBE, ESH_FINGERPRINTS, ESH_HASH, ESH_HASH_BITS, ESH_PARAMETERS };
enum { ESH_MURMUR, ESH_MIX };

struct esh_slot {
    uint64_t key, value; /* variable records: the key's hash, the blob's offset */
};

struct esh_bucket {
    uint64_t lock;    /* lock.h */
    uint64_t state;   /* the commit word, esh_state() */
    uint64_t tags[2]; /* fingerprints 0..7 | fingerprints 8..13, OFRB, OC */
    struct esh_slot slots[ESH_SLOTS];
};
static_assert(sizeof(struct esh_bucket) == PM_XPLINE, "a bucket is one XPLine");
static_assert(offsetof(struct esh_bucket, slots[2]) == PM_LINE, "slots 0 and 1 share line 0");

/* Out-of-line key and value; the key's bytes follow, then the value's. Never changed once seen. */
struct esh_blob {
    uint64_t sizes; /* 63 check 34 | 33 value size 17 | 16 key size 0, esh_blob_sizes() */
};

/* The table's root object: written once, durable before the pool names it. */
struct esh_header {
    uint64_t fixed;
    uint64_t parameters[ESH_PARAMETERS];
    uint64_t checksum; /* of all above, esh_header_checksum() */
};

/* In the volatile region. The lock guards every entry's change, the doubling, counts and spares. */
struct esh_directory {
    uint64_t depth; /* entries in use: 2^depth */
    char pad0_[PM_LINE - 8];
    uint64_t lock;
    uint64_t segments, splits;
    pm_off spare;    /* the first that a merge left over; tags[0] of its bucket 0: the next */
    uint64_t spares; /* how many */
    char pad1_[PM_LINE - 40];
    pm_off entries[]; /* of segments; reserved for the largest depth */
};

struct store {
    struct pool *pool;
    struct esh_directory PM *directory;
    pm_off header;
    bool fixed, fingerprints;
    unsigned buckets, probe; /* probe <= buckets */
    unsigned depth_max;      /* that the reserved directory can hold */
    uint64_t hash, hash_mask;
    uint64_t parameters[ESH_PARAMETERS];
    struct epoch epoch; /* of blobs */

    /* For locate only, so not in the door: changed under the directory's lock. */
    uint8_t *segment_units; /* a bit per POOL_UNIT of the pool: holds segments */
    pm_off first_segment;
};

/* What an operation looks for. bytes.data is NULL in a table of fixed records. */
struct esh_key {
    uint64_t hash;
    uint64_t word; /* what slot.key holds: the fixed key, or the hash */
    struct bytes bytes;
};

/* A segment, and which of its buckets a hash calls home. */
struct esh_window {
    pm_off offset;
    struct esh_bucket PM *segment;
    unsigned home;
};

/* Where a record lies. */
struct esh_place {
    unsigned bucket, slot;
    uint64_t value;
};

/* The state word of a segment's bucket number `bucket`. */
static inline uint64_t esh_state(unsigned bucket, unsigned depth, uint64_t pattern,
                                 unsigned allocated)
{
    const uint64_t word = pattern << 34 | (uint64_t)(depth + 1) << 28 | allocated;
    return word | hash_check(word, bucket, ESH_SLOTS) << ESH_SLOTS;
}
static inline bool esh_state_is_sound(uint64_t state, unsigned bucket)
{
    const uint64_t word = state & ~((uint64_t)ESH_ALL << ESH_SLOTS);
    return (state >> ESH_SLOTS & ESH_ALL) == hash_check(word, bucket, ESH_SLOTS);
}
static inline unsigned esh_allocated(uint64_t state)
{
    return state & ESH_ALL;
}
static inline bool esh_live(uint64_t state)
{
    return (state >> 28 & 63) != 0;
}
static inline unsigned esh_depth(uint64_t state) /* only when live */
{
    return (unsigned)(state >> 28 & 63) - 1;
}
static inline uint64_t esh_pattern(uint64_t state)
{
    return state >> 34;
}
static inline uint64_t esh_low_bits(uint64_t hash, unsigned bits)
{
    return hash & ((UINT64_C(1) << bits) - 1);
}
static inline bool esh_covers(uint64_t state, uint64_t hash)
{
    return esh_live(state) && esh_low_bits(hash, esh_depth(state)) == esh_pattern(state);
}
/* state with other slots: same segment. */
static inline uint64_t esh_with_slots(uint64_t state, unsigned bucket, unsigned allocated)
{
    return esh_state(bucket, esh_depth(state), esh_pattern(state), allocated);
}

/* The first word of the blob of a key with that hash. */
static inline uint64_t esh_blob_sizes(uint32_t key_size, uint32_t value_size, uint64_t hash)
{
    const uint64_t word = (uint64_t)value_size << 17 | key_size;
    return word | hash_check(word, hash, 30) << 34;
}
static inline uint32_t esh_blob_key_size(uint64_t sizes)
{
    return sizes & 0x1ffff;
}
static inline uint32_t esh_blob_value_size(uint64_t sizes)
{
    return sizes >> 17 & 0x1ffff;
}

static inline uint64_t esh_header_checksum(const struct esh_header *h)
{
    return hash_murmur_bytes(h, offsetof(struct esh_header, checksum));
}

static inline uint64_t esh_hash_word(const struct store *s, uint64_t key)
{
    const uint64_t hash = s->hash == ESH_MURMUR ? hash_murmur_word(key) : hash_mix_word(key);
    return hash & s->hash_mask;
}
/* The hash of the record in a slot, from the slot's key word. */
static inline uint64_t esh_slot_hash(const struct store *s, uint64_t word)
{
    return s->fixed ? esh_hash_word(s, word) : word;
}

/* Low bits are the directory's; bucket and fingerprint come from the top. */
static inline unsigned esh_home(const struct store *s, uint64_t hash)
{
    return (unsigned)(hash >> 58) & (s->buckets - 1);
}
static inline uint8_t esh_fingerprint(uint64_t hash)
{
    return (uint8_t)(hash >> 48);
}
/* How many buckets further `bucket` lies than home; a segment is a ring. */
static inline unsigned esh_distance(const struct store *s, unsigned home, unsigned bucket)
{
    return (bucket - home) & (s->buckets - 1);
}
static inline uint64_t esh_segment_bytes(const struct store *s)
{
    return (uint64_t)s->buckets * sizeof(struct esh_bucket);
}

/* The tag words, as values. */
static inline void esh_set_fingerprint(uint64_t tags[2], unsigned slot, uint64_t hash)
{
    const unsigned shift = slot % 8 * 8;
    uint64_t *word = &tags[slot / 8];
    *word = (*word & ~(UINT64_C(255) << shift)) | (uint64_t)esh_fingerprint(hash) << shift;
}
static inline unsigned esh_ofrb(uint64_t tag1) /* bit d-1: d buckets further */
{
    return tag1 >> 48 & 127;
}
static inline unsigned esh_oc(uint64_t tag1)
{
    return (unsigned)(tag1 >> 56);
}
/* OC cannot pass 255: at most 7 neighbours of 14 slots hold a bucket's records. */
static inline uint64_t esh_note_overflow(uint64_t tag1, unsigned distance)
{
    return (tag1 | UINT64_C(1) << (47 + distance) | UINT64_C(1) << 55) + (UINT64_C(1) << 56);
}
/* gone: no record of mine is left at that distance. */
static inline uint64_t esh_forget_overflow(uint64_t tag1, unsigned distance, bool gone)
{
    tag1 -= UINT64_C(1) << 56;
    if (gone)
        tag1 &= ~(UINT64_C(1) << (47 + distance));
    return esh_oc(tag1) ? tag1 : tag1 & ~(UINT64_C(1) << 55);
}

/* esh.c: what fixed and variable records share. */
enum esh_mode { ESH_INSERT, ESH_UPDATE, ESH_UPSERT };

/* One try to read without a lock: 0, -ENOENT, or -EAGAIN when a writer came between. */
int esh_peek(struct store *s, const struct esh_key *key, struct esh_place *place)
    PM_EXPORT(esh_peek);
/* *old: the value an update replaced, else 0. Errors as store.h says. */
int esh_put(struct store *s, const struct esh_key *key, uint64_t value, enum esh_mode mode,
            uint64_t *old) PM_EXPORT(esh_put);
int esh_drop(struct store *s, const struct esh_key *key, uint64_t *old) PM_EXPORT(esh_drop);
/* The record's place while its home is locked or the table is quiet: 0 or -ENOENT. */
int esh_find(struct store *s, const struct esh_window *w, const struct esh_key *key,
             struct esh_place *place) PM_EXPORT(esh_find);
uint64_t esh_hash_bytes(const struct store *s, struct bytes key) PM_EXPORT(esh_hash_bytes);

/* esh_split.c */
/* The directory's depth, for who holds its lock or has the table to itself. */
unsigned esh_directory_depth(const struct store *s) PM_EXPORT(esh_directory_depth);
/* Makes the directory name segment wherever the pattern's low `depth` bits stand. Likewise. */
void esh_direct(struct store *s, unsigned depth, uint64_t pattern, pm_off segment)
    PM_EXPORT(esh_direct);
/* Makes room for hash in the segment w, unless somebody did: 0, -ENOSPC, -EOVERFLOW. */
int esh_split(struct store *s, const struct esh_window *w, uint64_t hash) PM_EXPORT(esh_split);
/* All buckets of a segment, in order. */
void esh_lock_all(struct store *s, struct esh_bucket PM *segment) PM_EXPORT(esh_lock_all);
void esh_unlock_all(struct store *s, struct esh_bucket PM *segment) PM_EXPORT(esh_unlock_all);

/* esh_merge.c */
/* Merges the segment of hash with its partner, and on, as long as both are empty. */
void esh_merge(struct store *s, uint64_t hash) PM_EXPORT(esh_merge);
/* A segment that a merge left over, or 0: its states cover nothing, its locks are somebody's for a
 * moment still. */
pm_off esh_take_spare(struct store *s) PM_EXPORT(esh_take_spare);

/* esh_recover.c */
int esh_create(struct store **s, struct pool *pool, const struct store_config *config)
    PM_EXPORT(esh_create);
int esh_open(struct store **s, struct pool *pool, struct store_recovery *found)
    PM_EXPORT(esh_open);
void esh_close(struct store *s) PM_EXPORT(esh_close);

/* esh_bytes.c */
bool esh_blob_matches(struct store *s, pm_off blob, struct bytes key) PM_EXPORT(esh_blob_matches);
int esh_insert_bytes(struct store *s, struct bytes key, struct bytes value)
    PM_EXPORT(esh_insert_bytes);
int esh_get_bytes(struct store *s, struct bytes key, void *value, uint32_t capacity,
                  uint32_t *size) PM_EXPORT(esh_get_bytes);
int esh_update_bytes(struct store *s, struct bytes key, struct bytes value)
    PM_EXPORT(esh_update_bytes);
int esh_upsert_bytes(struct store *s, struct bytes key, struct bytes value)
    PM_EXPORT(esh_upsert_bytes);
int esh_remove_bytes(struct store *s, struct bytes key) PM_EXPORT(esh_remove_bytes);

/* esh_audit.c */
/* Remembers for locate that a segment lies there. Under the directory's lock. */
void esh_note_segment(struct store *s, pm_off segment) PM_EXPORT(esh_note_segment);
/* Every segment once, in the order of the directory. Nonzero from visit stops. */
int esh_segments(struct store *s, int (*visit)(void *arg, const struct esh_window *w, unsigned depth,
                                               uint64_t pattern),
                 void *arg) PM_EXPORT(esh_segments);
/* The hints that a segment's slots call for: tags[bucket]. */
void esh_expected_tags(struct store *s, struct esh_bucket PM *segment, uint64_t (*tags)[2])
    PM_EXPORT(esh_expected_tags);
int esh_iterate(struct store *s, store_visit *visit, void *arg) PM_EXPORT(esh_iterate);
int esh_audit(struct store *s, char *why, size_t why_size) PM_EXPORT(esh_audit);
void esh_stats(const struct store *s, struct store_stats *stats) PM_EXPORT(esh_stats);
void esh_locate(const struct store *s, pm_off offset, char *text, size_t text_size)
    PM_EXPORT(esh_locate);

#endif
