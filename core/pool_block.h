/* pool_block.h -- what pool.c (superblock, extents, recovery) and pool_block.c (small blocks) share.
 *
 *     dram:  shared | unit table: one entry per unit | bitmaps of block units, as they come
 *
 *     shared   extent lock and search hint; for each tag and block class a lock and a list of units
 *              that have a free block
 *     entry    a copy of the unit's descriptor, and for a block unit its bitmap and free count
 *
 * Descriptor word:  63 length in units 32 | 31 class 16 | 15 tag 8 | 7 kind 0
 *
 * Locks: a class lock may be held while the extent lock is taken, never the reverse.
 */
#ifndef CORE_POOL_BLOCK_H
#define CORE_POOL_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/pool.h"

enum { POOL_CLASSES = 27 };

enum pool_kind {
    POOL_FRESH = 0, /* never used: the unit reads as zeroes */
    POOL_EXTENT,    /* first unit of an extent */
    POOL_BLOCKS,    /* a unit of small blocks */
    POOL_MORE,      /* a further unit of the extent before; without one, free and not zero */
    POOL_FREED,     /* free and not zero */
};

/* One unit's volatile entry. */
struct pool_unit {
    uint64_t descriptor;
    pm_off bitmap;       /* in dram; 1: in use */
    uint32_t free_count; /* blocks */
    uint32_t next;       /* unit number + 1 on its class's list; 0: the last */
    uint64_t marked;     /* extents: reached by the owner's recovery */
};

struct pool_class {
    uint64_t lock;
    uint32_t first; /* unit number + 1; 0: no unit has a free block */
    uint32_t pad_;
    uint64_t pad2_[6];
};

struct pool_shared {
    uint64_t dram_next; /* first free byte of dram */
    uint64_t pad_[7];
    uint64_t lock; /* of extents */
    uint64_t hint; /* where the search for a free unit begins */
    uint64_t pad2_[6];
    pm_off units; /* struct pool_unit[pool->units] */
    uint64_t pad3_[7];
    struct pool_class classes[(POOL_TAG_MAX + 1) * POOL_CLASSES];
};

static inline uint64_t pool_descriptor(enum pool_kind kind, uint8_t tag, unsigned class,
                                       uint64_t length)
{
    return length << 32 | (uint64_t)class << 16 | (uint64_t)tag << 8 | (uint64_t)kind;
}
static inline enum pool_kind pool_kind_of(uint64_t descriptor)
{
    return (enum pool_kind)(descriptor & 0xff);
}
static inline uint8_t pool_tag_of(uint64_t descriptor)
{
    return (uint8_t)(descriptor >> 8);
}
static inline unsigned pool_class_of(uint64_t descriptor)
{
    return (unsigned)(descriptor >> 16 & 0xffff);
}
static inline uint64_t pool_length_of(uint64_t descriptor)
{
    return descriptor >> 32;
}
static inline pm_off pool_unit_offset(const struct pool *pool, uint64_t unit)
{
    return pool->first_unit + unit * POOL_UNIT;
}

/* Bytes of the blocks of a class, rising. */
extern const uint32_t pool_class_size[POOL_CLASSES] PM_EXPORT(pool_class_size);

static inline uint32_t pool_blocks_per_unit(unsigned class)
{
    return POOL_UNIT / pool_class_size[class];
}

struct pool_shared PM *pool_shared(const struct pool *pool) PM_EXPORT(pool_shared);
struct pool_unit PM *pool_unit(const struct pool *pool, uint64_t unit) PM_EXPORT(pool_unit);

/* Takes length units in a row, durably; the unit's number, or UINT64_MAX when there are none. */
uint64_t pool_take_units(struct pool *pool, uint64_t length, enum pool_kind kind, uint8_t tag,
                         unsigned class) PM_EXPORT(pool_take_units);

/* Gives a block unit its empty bitmap. False: the volatile region is full. */
bool pool_block_unit_init(struct pool *pool, uint64_t unit) PM_EXPORT(pool_block_unit_init);

/* Marks one block of a unit used. -EIO: not a block's start, or marked before. */
int pool_block_mark(struct pool *pool, uint64_t unit, pm_off block) PM_EXPORT(pool_block_mark);

/* Puts a unit that has free blocks on its class's list. */
void pool_block_list(struct pool *pool, uint64_t unit) PM_EXPORT(pool_block_list);

#endif
