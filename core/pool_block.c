/* pool_block.c -- small blocks: which are in use is volatile. See pool_block.h. */
#include "core/pool_block.h"

#include <assert.h>
#include <errno.h>

#include "core/lock.h"

/* Up to 512 B in lines, so that a record wastes under a line; then at most a quarter is wasted.
 * 256 B times powers of two are exact: ESH's segments, XPLine-aligned. */
const uint32_t pool_class_size[POOL_CLASSES] = {
    64,   128,  192,  256,  320,  384,  448,  512,  640,  768,   896,   1024,  1280,  1536,
    1792, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 10240, 13056, 16384, 21760, 32768,
};

static unsigned class_for(uint64_t size)
{
    unsigned class = 0;
    while (pool_class_size[class] < size)
        class++;
    return class;
}

static struct pool_class PM *class_list(const struct pool *pool, uint8_t tag, unsigned class)
{
    struct pool_shared PM *shared = pool_shared(pool);
    return &shared->classes[tag * POOL_CLASSES + class];
}

bool pool_block_unit_init(struct pool *pool, uint64_t unit)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    const unsigned class = pool_class_of(pm_load(&u->descriptor));
    const uint32_t count = pool_blocks_per_unit(class);
    const pm_off bitmap = pool_dram_alloc(pool, (count + 63) / 64 * 8);
    if (!bitmap)
        return false;
    pm_store(&u->bitmap, bitmap);
    pm_store(&u->free_count, count);
    return true;
}

static void push_unit(struct pool_class PM *list, struct pool_unit PM *u, uint64_t unit)
{
    const uint32_t first = pm_load(&list->first);
    pm_store(&u->next, first);
    pm_store(&list->first, (uint32_t)unit + 1);
}

void pool_block_list(struct pool *pool, uint64_t unit)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    const uint64_t descriptor = pm_load(&u->descriptor);
    push_unit(class_list(pool, pool_tag_of(descriptor), pool_class_of(descriptor)), u, unit);
}

/* The first free block of a unit that has one; marks it used. Under the class's lock. */
static uint32_t take_block(const struct pool *pool, struct pool_unit PM *u)
{
    const pm_off offset = pm_load(&u->bitmap);
    uint64_t PM *bitmap = pm_at(&pool->dram, offset);
    for (uint32_t word = 0;; word++) {
        assert(word < POOL_UNIT / PM_LINE / 64); /* the free count promised one */
        const uint64_t used = pm_load(&bitmap[word]);
        if (used == UINT64_MAX)
            continue;
        const uint32_t bit = (uint32_t)__builtin_ctzll(~used);
        pm_store(&bitmap[word], used | UINT64_C(1) << bit);
        return word * 64 + bit;
    }
}

static pm_off alloc_from_class(struct pool *pool, struct pool_class PM *list, unsigned class,
                               uint8_t tag)
{
    uint32_t first = pm_load(&list->first);
    if (!first) {
        const uint64_t unit = pool_take_units(pool, 1, POOL_BLOCKS, tag, class);
        if (unit == UINT64_MAX)
            return 0;
        if (!pool_block_unit_init(pool, unit))
            return 0; /* the unit stays, with no block to give; the next mark finds it whole */
        push_unit(list, pool_unit(pool, unit), unit);
        first = (uint32_t)unit + 1;
    }

    struct pool_unit PM *u = pool_unit(pool, first - 1);
    const uint32_t block = take_block(pool, u);
    const uint32_t left = pm_load(&u->free_count) - 1;
    pm_store(&u->free_count, left);
    if (!left) {
        const uint32_t next = pm_load(&u->next);
        pm_store(&list->first, next);
    }
    return pool_unit_offset(pool, first - 1) + (uint64_t)block * pool_class_size[class];
}

pm_off pool_alloc(struct pool *pool, uint64_t size, uint8_t tag)
{
    assert(size && tag && tag <= POOL_TAG_MAX);
    if (size > POOL_SMALL_MAX)
        return pool_extent_alloc(pool, size, tag);
    const unsigned class = class_for(size);
    struct pool_class PM *list = class_list(pool, tag, class);
    lock_acquire(&list->lock, pool->generation);
    const pm_off block = alloc_from_class(pool, list, class, tag);
    lock_release(&list->lock, pool->generation);
    return block;
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
    const unsigned class = pool_class_of(descriptor);
    const uint64_t index = (block - pool_unit_offset(pool, unit)) / pool_class_size[class];
    struct pool_class PM *list = class_list(pool, pool_tag_of(descriptor), class);

    lock_acquire(&list->lock, pool->generation);
    const pm_off offset = pm_load(&u->bitmap);
    uint64_t PM *bitmap = pm_at(&pool->dram, offset);
    const uint64_t used = pm_load(&bitmap[index / 64]);
    assert(used >> index % 64 & 1); /* freed once */
    pm_store(&bitmap[index / 64], used & ~(UINT64_C(1) << index % 64));
    const uint32_t before = pm_load(&u->free_count);
    pm_store(&u->free_count, before + 1);
    if (!before)
        push_unit(list, u, unit);
    lock_release(&list->lock, pool->generation);
}

int pool_block_mark(struct pool *pool, uint64_t unit, pm_off block)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    const uint32_t size = pool_class_size[pool_class_of(pm_load(&u->descriptor))];
    const uint64_t byte = block - pool_unit_offset(pool, unit);
    const uint64_t index = byte / size;
    if (byte % size || index >= POOL_UNIT / size)
        return -EIO;
    const pm_off offset = pm_load(&u->bitmap);
    uint64_t PM *bitmap = pm_at(&pool->dram, offset);
    const uint64_t used = pm_load(&bitmap[index / 64]);
    if (used >> index % 64 & 1)
        return -EIO;
    pm_store(&bitmap[index / 64], used | UINT64_C(1) << index % 64);
    const uint32_t before = pm_load(&u->free_count);
    pm_store(&u->free_count, before - 1);
    return 0;
}

int pool_blocks(struct pool *pool, uint8_t tag, int (*visit)(void *arg, pm_off block), void *arg)
{
    int stop = 0;
    for (uint64_t unit = 0; unit < pool->units && !stop; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        const uint64_t descriptor = pm_load(&u->descriptor);
        if (pool_kind_of(descriptor) != POOL_BLOCKS || pool_tag_of(descriptor) != tag)
            continue;
        const unsigned class = pool_class_of(descriptor);
        for (uint32_t i = 0; i < pool_blocks_per_unit(class) && !stop; i++)
            stop = visit(arg, pool_unit_offset(pool, unit) + (uint64_t)i * pool_class_size[class]);
    }
    return stop;
}
