/* pool.h -- a persistent pool: superblock, extents, small blocks; offsets, never pointers.
 *
 *   0        4 KiB                          first unit                            size
 *   | superblock | descriptors: 8 B per unit | unit 0 | unit 1 | ...                 |
 *
 *   unit        64 KiB. An extent is a run of units; all its bytes are 256 B-aligned.
 *   descriptor  0: never used (reads as zeroes); else kind, tag, block class and length in one word.
 *               That word is the single committing store of an extent's allocation and free.
 *   block       64 B .. 32 KiB, cut from a unit of one class; which blocks are in use is
 *               volatile, rebuilt after a restart from what the store says it reaches. Blocks
 *               read as zeroes until they are first allocated, so what a block's first bytes
 *               say can be trusted: nobody was here, or the owner was.
 *
 * Durability order
 *   create      everything but the magic, persist; magic (8 B release store), persist.
 *   open        checks magic, version, checksum, size, each descriptor's check, and changes nothing;
 *               start raises the generation, persist, before the first lock on it is taken. So what
 *               pool or store refuses stays as it was.
 *   extent      zeroed if ever used before, persist; descriptor (release), persist.
 *               A crash before the descriptor: the space is free. After: it is allocated, and the
 *               reachability scan of its owner finds out whether anything refers to it.
 *   block       nothing: allocated once the owner durably refers to it.
 *               What a crash left without owner is free again after the next mark.
 *   root        offset and owner's name in one line; offset (release) commits.
 *
 * A lock word holds the generation in its upper 32 bits (lock.h): a word of an older generation is
 * free, so locks that a crash left need no repair.
 *
 * Threads: alloc, free and locate may run at once; everything else needs the pool to itself. The
 * allocator's shared state lies in the volatile region, which must read as zeroes at create and
 * open; workers allocate from lanes of their own (pool_block.h).
 *
 * Source: extents and size classes after PMDK's heap (chunks and runs); volatile occupancy rebuilt
 * from reachability after Bhandari et al., "Makalu" (OOPSLA '16).
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/pm.h"

enum {
    POOL_UNIT = 65536,
    POOL_SMALL_MAX = 32768,
    POOL_NAME_MAX = 16,
    POOL_WHY_MAX = 256,
    POOL_TAG_MAX = 7,
};

/* The open pool. Ordinary memory, the same on every target; shared state is in dram. */
struct pool {
    struct pm_region memory; /* pm_at(&pool->memory, offset) */
    struct pm_region dram;   /* the volatile region: shared DRAM of this run */
    uint32_t generation;     /* of this opening; from 1 */
    uint64_t units;
    pm_off first_unit;
    pm_off unit_table; /* in dram: what the allocator knows of each unit (pool_block.h) */
};

/* Makes a pool over the whole persistent region, which must read as zeroes (a new file does).
 * -EINVAL: smaller than 1 MiB; -ENOMEM. */
int pool_create(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
                char why[POOL_WHY_MAX]) PM_EXPORT(pool_create);

/* Opens an existing pool, and changes nothing in it. -EINVAL: no pool, another version or size; -EIO:
 * damaged; -ENOMEM. Every block counts as free until it is marked. */
int pool_open(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
              char why[POOL_WHY_MAX]) PM_EXPORT(pool_open);
/* Makes the opening's generation durable: the owner, when it has found no fault, before it changes
 * anything. */
void pool_start(struct pool *pool) PM_EXPORT(pool_start);
void pool_close(struct pool *pool) PM_EXPORT(pool_close);

/* The root: which store owns this pool, and its first object. */
void pool_set_root(struct pool *pool, const char name[POOL_NAME_MAX], pm_off root)
    PM_EXPORT(pool_set_root);
pm_off pool_root(struct pool *pool, char name[POOL_NAME_MAX]) PM_EXPORT(pool_root);

/* For a store that is one extent: makes it and names it the root, -ENOSPC if it does not fit. Finds
 * it again, with its size in whole units, and frees all else: -EINVAL if the pool is not name's,
 * -EIO if the root is no extent. */
int pool_single_make(struct pool *pool, const char *name, uint64_t size)
    PM_EXPORT(pool_single_make);
int pool_single_find(struct pool *pool, const char *name, pm_off *extent, uint64_t *size)
    PM_EXPORT(pool_single_find);

/* An extent of at least size bytes, read as zeroes; 0 when the pool is full. tag: 1..
 * POOL_TAG_MAX, the owner's own number, by which it finds its extents again. */
pm_off pool_extent_alloc(struct pool *pool, uint64_t size, uint8_t tag)
    PM_EXPORT(pool_extent_alloc);
void pool_extent_free(struct pool *pool, pm_off extent) PM_EXPORT(pool_extent_free);

/* Calls visit for every extent with this tag: its offset, and its bytes. Nonzero stops. */
int pool_extents(struct pool *pool, uint8_t tag,
                 int (*visit)(void *arg, pm_off extent, uint64_t size), void *arg)
    PM_EXPORT(pool_extents);

/* Calls visit for every block position, in use or not, of the block extents with this tag: its
 * offset, and its class's bytes. Nonzero stops. */
int pool_blocks(struct pool *pool, uint8_t tag,
                int (*visit)(void *arg, pm_off block, uint64_t size), void *arg)
    PM_EXPORT(pool_blocks);

/* Where an offset lies: its owner's tag, the block's or extent's number under that tag's layout
 * (unit by unit, so numbers have gaps) and the byte in it. False: in nobody's. */
bool pool_locate(const struct pool *pool, pm_off offset, uint8_t *tag, uint64_t *number,
                 uint64_t *byte) PM_EXPORT(pool_locate);

/* A block of size 1 .. POOL_SMALL_MAX bytes, 64 B-aligned (256 B-aligned when size is a multiple of
 * 256), contents undefined; larger sizes give an extent. 0 when full. */
pm_off pool_alloc(struct pool *pool, uint64_t size, uint8_t tag) PM_EXPORT(pool_alloc);
void pool_free(struct pool *pool, pm_off block) PM_EXPORT(pool_free);

/* Recovery, once after open: between begin and end the owner marks every block and extent it
 * reaches, with the bytes it needs there; end frees the rest and returns how many bytes of whole
 * units that gave back (a single block's loss leaves no trace to count). -EIO: marked twice, not a
 * block, or too short. */
void pool_mark_begin(struct pool *pool) PM_EXPORT(pool_mark_begin);
int pool_mark(struct pool *pool, pm_off block, uint64_t size) PM_EXPORT(pool_mark);
uint64_t pool_mark_end(struct pool *pool) PM_EXPORT(pool_mark_end);

/* Bytes of units in use, and in *allocated those of extents and of allocated blocks in them. */
uint64_t pool_used(const struct pool *pool, uint64_t *allocated) PM_EXPORT(pool_used);
/* The bytes that pool_alloc() takes for so many: a block's, or whole units. */
uint64_t pool_rounded(uint64_t size) PM_EXPORT(pool_rounded);

/* A piece of the volatile region, zeroed, 64 B-aligned, never given back; 0 when it is full. */
pm_off pool_dram_alloc(struct pool *pool, uint64_t size) PM_EXPORT(pool_dram_alloc);
uint64_t pool_dram_used(const struct pool *pool) PM_EXPORT(pool_dram_used);

/* The same operations as a table, for code that is compiled once: pool_native, pool_emul, .. */
struct pool_ops {
    int (*create)(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
                  char why[POOL_WHY_MAX]);
    int (*open)(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
                char why[POOL_WHY_MAX]);
    void (*close)(struct pool *pool);
    uint64_t (*used)(const struct pool *pool, uint64_t *allocated);
};

#endif
