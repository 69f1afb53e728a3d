/* pool_block.c -- small blocks: which are in use is volatile. See pool_block.h. */
#include "core/pool_block.h"

#include <assert.h>
#include <errno.h>

#include "core/lock.h"

/* Up to 512 B in lines, so that a record wastes under a line; then at most a quarter is wasted.
 * 256 B times powers of two are exact: ESH's segments, XPLine-aligned. */
const uint32_t pool_class_size[POOL_CLASSES] = {
    64,   128,  192,  256,  320,  384,  448,  512,  640,   768,   896,   1024,  1280,  1536,
    1792, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 13056, 16384, 21760, 32768,
};
static_assert(sizeof(struct pool_lane) % PM_LINE == 0, "lanes do not share a line");

/* The smallest class that holds size bytes: XPLine-aligned if size is a multiple of XPLines. */
static unsigned class_for(uint64_t size)
{
    const bool aligned = size % PM_XPLINE == 0;
    unsigned class = 0;
    while (pool_class_size[class] < size || (aligned && pool_class_size[class] % PM_XPLINE))
        class++;
    return class;
}

uint64_t pool_rounded(uint64_t size)
{
    if (size > POOL_SMALL_MAX)
        return (size + POOL_UNIT - 1) / POOL_UNIT * POOL_UNIT;
    return pool_class_size[class_for(size)];
}

static unsigned list_of(uint64_t descriptor)
{
    return pool_tag_of(descriptor) * POOL_CLASSES + pool_class_of(descriptor);
}

static struct pool_lane PM *lane_of(const struct pool *pool, uint32_t lane)
{
    struct pool_shared PM *shared = pool_shared(pool);
    return &shared->lanes[lane];
}

static uint64_t PM *bitmap_of(const struct pool *pool, struct pool_unit PM *u)
{
    const pm_off bitmap = pm_load(&u->bitmap);
    return pm_at(&pool->dram, bitmap);
}

/* ---- units on lists. Under the lane's lock, or in a quiet pool ------------------------------------ */

bool pool_block_unit_init(struct pool *pool, uint64_t unit, uint32_t lane)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    pm_off bitmap = pm_load(&u->bitmap);
    if (!bitmap)
        bitmap = pool_dram_alloc(pool, POOL_BITMAP_BYTES);
    if (!bitmap)
        return false;
    uint64_t PM *words = pm_at(&pool->dram, bitmap);
    for (uint32_t i = 0; i < POOL_BITMAP_BYTES / 8; i++)
        pm_store(&words[i], 0);
    pm_store(&u->bitmap, bitmap);
    const uint64_t descriptor = pm_load(&u->descriptor);
    pm_store(&u->free_count, pool_blocks_per_unit(pool_class_of(descriptor)));
    pm_store_relaxed(&u->lane, lane);
    return true;
}

bool pool_block_unit_is_empty(struct pool_unit PM *u)
{
    const uint64_t descriptor = pm_load(&u->descriptor);
    const uint32_t free_count = pm_load(&u->free_count);
    return free_count == pool_blocks_per_unit(pool_class_of(descriptor));
}

static void push_unit(uint32_t PM *first, struct pool_unit PM *u, uint64_t unit)
{
    const uint32_t next = pm_load_relaxed(first);
    pm_store(&u->next, next);
    pm_store_relaxed(first, (uint32_t)unit + 1);
}

/* Takes the first unit off a list: its number, or UINT64_MAX. */
static uint64_t pop_unit(const struct pool *pool, uint32_t PM *first)
{
    const uint32_t number = pm_load_relaxed(first);
    if (!number)
        return UINT64_MAX;
    struct pool_unit PM *u = pool_unit(pool, number - 1);
    const uint32_t next = pm_load(&u->next);
    pm_store_relaxed(first, next);
    return number - 1;
}

void pool_block_list(struct pool *pool, uint64_t unit)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    struct pool_lane PM *common = lane_of(pool, POOL_COMMON);
    const uint64_t descriptor = pm_load(&u->descriptor);
    pm_store_relaxed(&u->lane, POOL_COMMON);
    push_unit(&common->first[list_of(descriptor)], u, unit);
}

/* ---- allocation ----------------------------------------------------------------------------------- */

/* What a request becomes: a list's number, and how a unit for it is described. */
struct want {
    unsigned list, class;
    uint8_t tag;
};

/* The first free block of the list; its unit leaves the list with its last block. 0: the list is
 * empty. Under the lane's lock. */
static pm_off take_block(const struct pool *pool, uint32_t PM *first, unsigned class)
{
    const uint32_t number = pm_load_relaxed(first);
    if (!number)
        return 0;
    struct pool_unit PM *u = pool_unit(pool, number - 1);
    uint64_t PM *bitmap = bitmap_of(pool, u);
    uint32_t word = 0;
    uint64_t used = pm_load(&bitmap[0]);
    while (used == UINT64_MAX) {
        word++;
        assert(word < POOL_BITMAP_BYTES / 8); /* a unit on a list has a free block */
        used = pm_load(&bitmap[word]);
    }
    const uint32_t block = word * 64 + (uint32_t)__builtin_ctzll(~used);
    pm_store(&bitmap[word], used | UINT64_C(1) << block % 64);
    const uint32_t left = pm_load(&u->free_count) - 1;
    pm_store(&u->free_count, left);
    if (!left)
        pop_unit(pool, first);
    return pool_unit_offset(pool, number - 1) + (uint64_t)block * pool_class_size[class];
}

/* Brings a unit with free blocks to the worker's lane, if there is one. Under the lane's lock. */
static void refill(struct pool *pool, uint32_t own, uint32_t PM *first, const struct want *w)
{
    struct pool_lane PM *common = lane_of(pool, POOL_COMMON);
    uint64_t unit = UINT64_MAX;
    const uint32_t waiting = pm_load_relaxed(&common->first[w->list]);
    if (waiting) {
        lock_acquire(&common->lock, pool->generation);
        unit = pop_unit(pool, &common->first[w->list]);
        if (unit != UINT64_MAX) {
            struct pool_unit PM *u = pool_unit(pool, unit);
            pm_store_relaxed(&u->lane, own);
        }
        lock_release(&common->lock, pool->generation);
    }
    if (unit == UINT64_MAX) {
        unit = pool_take_units(pool, 1, POOL_BLOCKS, w->tag, w->class);
        if (unit == UINT64_MAX)
            return;
        if (!pool_block_unit_init(pool, unit, own)) {
            pool_extent_free(pool, pool_unit_offset(pool, unit));
            return;
        }
    }
    push_unit(first, pool_unit(pool, unit), unit);
}

static pm_off alloc_at_home(struct pool *pool, const struct want *w)
{
    const uint32_t own = (uint32_t)pm_self() % POOL_LANES;
    struct pool_lane PM *lane = lane_of(pool, own);
    uint32_t PM *first = &lane->first[w->list];
    lock_acquire(&lane->lock, pool->generation);
    const uint32_t number = pm_load_relaxed(first);
    if (!number)
        refill(pool, own, first, w);
    const pm_off block = take_block(pool, first, w->class);
    lock_release(&lane->lock, pool->generation);
    return block;
}

/* No unit is left to be had: a free block in any lane will do. */
static pm_off alloc_anywhere(struct pool *pool, const struct want *w)
{
    pm_off block = 0;
    for (uint32_t i = 0; i <= POOL_COMMON && !block; i++) {
        struct pool_lane PM *lane = lane_of(pool, i);
        const uint32_t number = pm_load_relaxed(&lane->first[w->list]);
        if (!number)
            continue;
        lock_acquire(&lane->lock, pool->generation);
        block = take_block(pool, &lane->first[w->list], w->class);
        lock_release(&lane->lock, pool->generation);
    }
    return block;
}

pm_off pool_alloc(struct pool *pool, uint64_t size, uint8_t tag)
{
    assert(size && tag && tag <= POOL_TAG_MAX);
    if (size > POOL_SMALL_MAX)
        return pool_extent_alloc(pool, size, tag);
    const unsigned class = class_for(size);
    const struct want w = {.list = tag * POOL_CLASSES + class, .class = class, .tag = tag};
    pm_off block = alloc_at_home(pool, &w);
    if (!block)
        block = alloc_anywhere(pool, &w);
    if (!block && pool_block_give_back(pool))
        block = alloc_at_home(pool, &w);
    return block;
}

/* ---- free ----------------------------------------------------------------------------------------- */

/* Locks the lane that owns the unit now: it may move while we wait. */
static struct pool_lane PM *lock_lane_of(struct pool *pool, struct pool_unit PM *u)
{
    for (;;) {
        const uint32_t owner = pm_load_relaxed(&u->lane);
        struct pool_lane PM *lane = lane_of(pool, owner);
        lock_acquire(&lane->lock, pool->generation);
        const uint32_t still = pm_load_relaxed(&u->lane);
        if (still == owner)
            return lane;
        lock_release(&lane->lock, pool->generation);
    }
}

void pool_free(struct pool *pool, pm_off block)
{
    const uint64_t unit = (block - pool->first_unit) / POOL_UNIT;
    struct pool_unit PM *u = pool_unit(pool, unit);
    const uint64_t descriptor = pm_load_acquire(&u->descriptor);
    if (pool_kind_of(descriptor) != POOL_BLOCKS) {
        pool_extent_free(pool, block);
        return;
    }
    const uint32_t size = pool_class_size[pool_class_of(descriptor)];
    const uint64_t index = (block - pool_unit_offset(pool, unit)) / size;

    struct pool_lane PM *lane = lock_lane_of(pool, u);
    uint64_t PM *bitmap = bitmap_of(pool, u);
    const uint64_t used = pm_load(&bitmap[index / 64]);
    assert(used >> index % 64 & 1); /* freed once */
    pm_store(&bitmap[index / 64], used & ~(UINT64_C(1) << index % 64));
    const uint32_t before = pm_load(&u->free_count);
    pm_store(&u->free_count, before + 1);
    if (!before)
        push_unit(&lane->first[list_of(descriptor)], u, unit);
    lock_release(&lane->lock, pool->generation);
}

/* Frees the empty units of one list; returns how many. Under the lane's lock. */
static uint64_t give_back_list(struct pool *pool, uint32_t PM *first)
{
    uint64_t given = 0;
    uint32_t PM *link = first;
    for (;;) {
        const uint32_t number = pm_load_relaxed(link);
        if (!number)
            return given;
        struct pool_unit PM *u = pool_unit(pool, number - 1);
        if (pool_block_unit_is_empty(u)) {
            const uint32_t next = pm_load(&u->next);
            pm_store_relaxed(link, next);
            pool_extent_free(pool, pool_unit_offset(pool, number - 1));
            given++;
        } else {
            link = &u->next;
        }
    }
}

uint64_t pool_block_give_back(struct pool *pool)
{
    uint64_t given = 0;
    for (uint32_t i = 0; i <= POOL_COMMON; i++) {
        struct pool_lane PM *lane = lane_of(pool, i);
        for (uint32_t list = 0; list < POOL_LISTS; list++) {
            const uint32_t number = pm_load_relaxed(&lane->first[list]);
            if (!number)
                continue;
            lock_acquire(&lane->lock, pool->generation);
            given += give_back_list(pool, &lane->first[list]);
            lock_release(&lane->lock, pool->generation);
        }
    }
    return given;
}

/* ---- recovery ------------------------------------------------------------------------------------- */

int pool_block_mark(struct pool *pool, uint64_t unit, pm_off block, uint64_t size)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    const uint64_t descriptor = pm_load(&u->descriptor);
    const unsigned class = pool_class_of(descriptor);
    const uint64_t byte = block - pool_unit_offset(pool, unit);
    const uint64_t index = byte / pool_class_size[class];
    if (byte % pool_class_size[class] || index >= pool_blocks_per_unit(class) ||
        size > pool_class_size[class])
        return -EIO;
    uint64_t PM *bitmap = bitmap_of(pool, u);
    const uint64_t used = pm_load(&bitmap[index / 64]);
    if (used >> index % 64 & 1)
        return -EIO;
    pm_store(&bitmap[index / 64], used | UINT64_C(1) << index % 64);
    const uint32_t before = pm_load(&u->free_count);
    pm_store(&u->free_count, before - 1);
    return 0;
}

int pool_blocks(struct pool *pool, uint8_t tag,
                int (*visit)(void *arg, pm_off block, uint64_t size), void *arg)
{
    int stop = 0;
    for (uint64_t unit = 0; unit < pool->units && !stop; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        const uint64_t descriptor = pm_load(&u->descriptor);
        if (pool_kind_of(descriptor) != POOL_BLOCKS || pool_tag_of(descriptor) != tag)
            continue;
        const unsigned class = pool_class_of(descriptor);
        for (uint32_t i = 0; i < pool_blocks_per_unit(class) && !stop; i++)
            stop = visit(arg, pool_unit_offset(pool, unit) + (uint64_t)i * pool_class_size[class],
                         pool_class_size[class]);
    }
    return stop;
}
