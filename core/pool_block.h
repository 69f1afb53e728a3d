/* pool_block.h -- what pool.c (superblock, extents, recovery) and pool_block.c (small blocks) share.
 *
 *     dram:  shared | unit table: one entry per unit | bitmaps of block units, as they come
 *
 *     shared   extent lock and search hint; lanes
 *     lane     a lock, and for each tag and class a list of units that have a free block
 *     entry    a copy of the unit's descriptor, and for a block unit its bitmap and lane
 *
 *     worker --> its lane --empty--> the common lane --empty--> a fresh unit --none--> others' lanes
 *
 * A worker allocates from the lane of its number, so workers do not meet at a lock while units
 * last. A block goes back to its unit's lane, whoever frees it. What recovery finds partly used
 * waits in the common lane until somebody needs it. Units that are wholly free go back to the pool
 * when nothing else is left, so that one size cannot starve the others for ever.
 *
 * Descriptor word:  63 length in units 32 | 31 check 16 | 15 class 11 | 10 tag 8 | 7 kind 0
 * The check covers the word and the unit's number, so that damage is not taken for free space.
 *
 * Locks: a lane's lock may be held while the common lane's or the extent lock is taken, and the
 * common lane's while the extent lock is. Never the reverse, and never two lanes of workers.
 */
#ifndef CORE_POOL_BLOCK_H
#define CORE_POOL_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/hash.h"
#include "core/pool.h"

enum {
    POOL_CLASSES = 27,
    POOL_LANES = 64, /* workers with equal numbers modulo this share one; 48 cores fit */
    POOL_COMMON = POOL_LANES,
    POOL_LISTS = (POOL_TAG_MAX + 1) * POOL_CLASSES,
    POOL_BITMAP_BYTES = POOL_UNIT / PM_LINE / 8, /* for the smallest class */
};

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
    pm_off bitmap;       /* in dram; 1: in use. Kept when the unit is freed, for its next life */
    uint32_t free_count; /* blocks */
    uint32_t next;       /* unit number + 1 on its list; 0: the last */
    uint32_t lane;       /* whose lock guards this entry while it is a block unit */
    uint32_t marked;     /* extents: reached by the owner's recovery */
};

struct pool_lane {
    uint64_t lock;
    uint64_t pad_[7];
    uint32_t first[POOL_LISTS]; /* by tag and class: unit number + 1; 0: none has a free block */
    uint32_t pad2_[(16 - POOL_LISTS % 16) % 16];
};

struct pool_shared {
    uint64_t dram_next; /* first free byte of dram */
    uint64_t pad_[7];
    uint64_t lock; /* of extents */
    uint64_t hint; /* where the search for a free unit begins */
    uint64_t pad2_[6];
    struct pool_lane lanes[POOL_LANES + 1];
};

static inline uint64_t pool_descriptor(uint64_t unit, enum pool_kind kind, uint8_t tag,
                                       unsigned class, uint64_t length)
{
    const uint64_t word =
        length << 32 | (uint64_t)class << 11 | (uint64_t)tag << 8 | (uint64_t)kind;
    return word | hash_check(word, unit, 16) << 16;
}
static inline bool pool_descriptor_is_sound(uint64_t unit, uint64_t descriptor)
{
    const uint64_t word = descriptor & ~UINT64_C(0xffff0000);
    return !descriptor || (descriptor >> 16 & 0xffff) == hash_check(word, unit, 16);
}
static inline enum pool_kind pool_kind_of(uint64_t descriptor)
{
    return (enum pool_kind)(descriptor & 0xff);
}
static inline uint8_t pool_tag_of(uint64_t descriptor)
{
    return (uint8_t)(descriptor >> 8 & 7);
}
static inline unsigned pool_class_of(uint64_t descriptor)
{
    return (unsigned)(descriptor >> 11 & 31);
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

/* Gives a block unit an empty bitmap and a lane. False: the volatile region is full. */
bool pool_block_unit_init(struct pool *pool, uint64_t unit, uint32_t lane)
    PM_EXPORT(pool_block_unit_init);

/* True when no block of a block unit is in use. Under its lane's lock, or in a quiet pool. */
bool pool_block_unit_is_empty(struct pool_unit PM *u) PM_EXPORT(pool_block_unit_is_empty);

/* Marks one block of a unit used. -EIO: not a block's start, shorter than size, or marked before. */
int pool_block_mark(struct pool *pool, uint64_t unit, pm_off block, uint64_t size)
    PM_EXPORT(pool_block_mark);

/* Puts a unit that has free blocks into the common lane. */
void pool_block_list(struct pool *pool, uint64_t unit) PM_EXPORT(pool_block_list);

/* Frees the block units in which no block is in use; returns how many. */
uint64_t pool_block_give_back(struct pool *pool) PM_EXPORT(pool_block_give_back);

#endif
