/* pool.c -- superblock, extents, and the reachability scan. See pool.h for the durability order. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/hash.h"
#include "core/lock.h"
#include "core/pool_block.h"

#define POOL_MAGIC UINT64_C(0x314e495754504d50) /* "PMPTWIN1" */

enum { POOL_VERSION = 2, POOL_SIZE_MIN = 1 << 20, SHARED_OFFSET = PM_LINE };

/* What never changes after create; the magic is stored last. */
struct superblock {
    uint64_t magic;
    uint64_t version, unit, size, units, first_unit;
    uint64_t checksum; /* of version .. first_unit */
    uint64_t pad_;
    uint64_t generation; /* a line of its own: stored at every open */
    uint64_t pad2_[7];
    pm_off root; /* commits the name beside it */
    char root_name[POOL_NAME_MAX];
    uint64_t pad3_[5];
};
static_assert(sizeof(struct superblock) == 3 * PM_LINE, "three lines");

enum { DESCRIPTORS_OFFSET = 4096 };

static struct superblock PM *superblock(const struct pool *pool)
{
    return pm_at(&pool->memory, 0);
}

static uint64_t PM *descriptor(const struct pool *pool, uint64_t unit)
{
    return pm_at(&pool->memory, DESCRIPTORS_OFFSET + unit * 8);
}

struct pool_shared PM *pool_shared(const struct pool *pool)
{
    return pm_at(&pool->dram, SHARED_OFFSET);
}

struct pool_unit PM *pool_unit(const struct pool *pool, uint64_t unit)
{
    return pm_at(&pool->dram, pool->unit_table + unit * sizeof(struct pool_unit));
}

static uint64_t checksum_of(const struct superblock *s)
{
    return hash_murmur_bytes(&s->version, 5 * sizeof s->version);
}

/* Where units begin: behind one descriptor for each POOL_UNIT of the pool. */
static uint64_t first_unit_of(uint64_t size)
{
    const uint64_t bytes = DESCRIPTORS_OFFSET + size / POOL_UNIT * 8;
    return (bytes + POOL_UNIT - 1) / POOL_UNIT * POOL_UNIT;
}

/* ---- create, open, close ---------------------------------------------------------------------- */

/* Volatile state for an opening: the region is fresh, so it reads as zeroes. */
static int shared_init(struct pool *pool)
{
    struct pool_shared PM *shared = pool_shared(pool);
    if (pool->dram.size < SHARED_OFFSET + sizeof *shared)
        return -ENOMEM;
    pm_store(&shared->dram_next, SHARED_OFFSET + sizeof *shared);
    pool->unit_table = pool_dram_alloc(pool, pool->units * sizeof(struct pool_unit));
    return pool->unit_table ? 0 : -ENOMEM;
}

int pool_create(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
                char why[POOL_WHY_MAX])
{
    if (memory->size < POOL_SIZE_MIN) {
        snprintf(why, POOL_WHY_MAX, "a pool needs at least 1 MiB, this has %llu bytes",
                 (unsigned long long)memory->size);
        return -EINVAL;
    }
    const uint64_t first = first_unit_of(memory->size);
    *pool = (struct pool){.memory = *memory,
                          .dram = *dram,
                          .generation = 1,
                          .first_unit = first,
                          .units = (memory->size - first) / POOL_UNIT};
    const int error = shared_init(pool);
    if (error) {
        snprintf(why, POOL_WHY_MAX, "the volatile region is too small for %llu units",
                 (unsigned long long)pool->units);
        return error;
    }

    struct superblock s = {.version = POOL_VERSION,
                           .unit = POOL_UNIT,
                           .size = memory->size,
                           .units = pool->units,
                           .first_unit = pool->first_unit,
                           .generation = 1};
    s.checksum = checksum_of(&s);
    struct superblock PM *on_pm = superblock(pool);
    pm_write(on_pm, &s, sizeof s);
    pm_persist(on_pm, sizeof s);
    pm_store_release(&on_pm->magic, POOL_MAGIC);
    pm_persist(&on_pm->magic, sizeof on_pm->magic);
    return 0;
}

/* 0 if s can be the superblock of a pool in a region of size bytes; else why not. */
static int check_superblock(const struct superblock *s, uint64_t size, char why[POOL_WHY_MAX])
{
    if (s->magic != POOL_MAGIC) {
        snprintf(why, POOL_WHY_MAX, "not a pmtwin pool (magic 0x%llx)",
                 (unsigned long long)s->magic);
        return -EINVAL;
    }
    /* Before the checksum: another version may compute it in another way. */
    if (s->version != POOL_VERSION) {
        snprintf(why, POOL_WHY_MAX, "pool format %llu, %s; this program reads format %d",
                 (unsigned long long)s->version,
                 s->version > POOL_VERSION ? "newer than this program" : "of an older program",
                 POOL_VERSION);
        return -EINVAL;
    }
    if (s->checksum != checksum_of(s) || s->unit != POOL_UNIT) {
        snprintf(why, POOL_WHY_MAX, "the superblock's checksum is wrong: the pool is damaged");
        return -EIO;
    }
    if (s->size != size) {
        snprintf(why, POOL_WHY_MAX, "the pool was made %llu bytes long and has %llu now",
                 (unsigned long long)s->size, (unsigned long long)size);
        return -EINVAL;
    }
    if (s->first_unit != first_unit_of(size) ||
        s->units != size / POOL_UNIT - s->first_unit / POOL_UNIT) {
        snprintf(why, POOL_WHY_MAX, "the superblock's layout does not fit its size");
        return -EIO;
    }
    if (s->root && (s->root < s->first_unit || s->root >= s->first_unit + s->units * POOL_UNIT)) {
        snprintf(why, POOL_WHY_MAX, "the root 0x%llx lies outside of the pool: it is damaged",
                 (unsigned long long)s->root);
        return -EIO;
    }
    return 0;
}

/* A word that an allocation or a free of this program can have left behind. */
static bool legal_descriptor(const struct pool *pool, uint64_t unit, uint64_t word)
{
    const enum pool_kind kind = pool_kind_of(word);
    const uint64_t length = pool_length_of(word);

    if (!pool_descriptor_is_sound(unit, word) || kind > POOL_FREED || (kind == POOL_FRESH && word))
        return false;
    if (kind != POOL_EXTENT && kind != POOL_BLOCKS)
        return true;
    if (!pool_tag_of(word) || !length || length > pool->units - unit)
        return false;
    return kind == POOL_EXTENT || (length == 1 && pool_class_of(word) < POOL_CLASSES);
}

/* Reads an extent's further units, which were durable before its first. */
static bool load_more(struct pool *pool, uint64_t unit, uint64_t length)
{
    for (uint64_t i = unit + 1; i < unit + length; i++) {
        const uint64_t PM *on_pm = descriptor(pool, i);
        const uint64_t word = pm_load(on_pm);
        if (pool_kind_of(word) != POOL_MORE || !pool_descriptor_is_sound(i, word))
            return false;
        struct pool_unit PM *more = pool_unit(pool, i);
        pm_store(&more->descriptor, word);
    }
    return true;
}

/* Reads the descriptors into the unit table, every block free. Units come into use in order, so
 * behind one that never was there is at most the rest of an extent that did not commit. Else a
 * descriptor was lost, and its unit does not read as zeroes. */
static int load_units(struct pool *pool, char why[POOL_WHY_MAX])
{
    bool fresh = false;
    for (uint64_t unit = 0; unit < pool->units;) {
        const uint64_t PM *on_pm = descriptor(pool, unit);
        const uint64_t word = pm_load(on_pm);
        const enum pool_kind kind = pool_kind_of(word);
        const uint64_t length = kind == POOL_EXTENT ? pool_length_of(word) : 1;
        fresh |= kind == POOL_FRESH;
        if (!legal_descriptor(pool, unit, word) || !load_more(pool, unit, length) ||
            (fresh && kind != POOL_FRESH && kind != POOL_MORE)) {
            snprintf(why, POOL_WHY_MAX, "unit %llu has an impossible descriptor 0x%llx",
                     (unsigned long long)unit, (unsigned long long)word);
            return -EIO;
        }
        struct pool_unit PM *u = pool_unit(pool, unit);
        const bool stray = kind == POOL_MORE; /* its extent was freed, or never committed */
        const uint64_t loaded = stray ? pool_descriptor(unit, POOL_FREED, 0, 0, 0) : word;
        pm_store(&u->descriptor, loaded);
        if (kind == POOL_BLOCKS && !pool_block_unit_init(pool, unit, POOL_COMMON)) {
            snprintf(why, POOL_WHY_MAX, "the volatile region is too small for this pool");
            return -ENOMEM;
        }
        unit += length;
    }
    return 0;
}

int pool_open(struct pool *pool, const struct pm_region *memory, const struct pm_region *dram,
              char why[POOL_WHY_MAX])
{
    struct superblock s;
    *pool = (struct pool){.memory = *memory, .dram = *dram};
    if (memory->size < POOL_SIZE_MIN) {
        snprintf(why, POOL_WHY_MAX, "too short for a pool: %llu bytes",
                 (unsigned long long)memory->size);
        return -EINVAL;
    }
    struct superblock PM *on_pm = superblock(pool);
    pm_read(&s, on_pm, sizeof s);
    int error = check_superblock(&s, memory->size, why);
    if (error)
        return error;
    if (s.generation >= UINT32_MAX) {
        snprintf(why, POOL_WHY_MAX, "generation %llu: this pool has been opened too often",
                 (unsigned long long)s.generation);
        return -EIO;
    }
    pool->units = s.units;
    pool->first_unit = s.first_unit;
    error = shared_init(pool);
    if (error) {
        snprintf(why, POOL_WHY_MAX, "the volatile region is too small for this pool");
        return error;
    }
    pool->generation = (uint32_t)s.generation + 1;
    return load_units(pool, why);
}

void pool_start(struct pool *pool)
{
    struct superblock PM *on_pm = superblock(pool);
    pm_store_release(&on_pm->generation, (uint64_t)pool->generation);
    pm_persist(&on_pm->generation, sizeof on_pm->generation);
}

void pool_close(struct pool *pool)
{
    *pool = (struct pool){0}; /* all that lasts is on persistent memory already */
}

void pool_set_root(struct pool *pool, const char name[POOL_NAME_MAX], pm_off root)
{
    struct superblock PM *on_pm = superblock(pool);
    pm_write(&on_pm->root_name, name, POOL_NAME_MAX);
    pm_store_release(&on_pm->root, root); /* same line as the name, stored after it */
    pm_persist(&on_pm->root, PM_LINE);
}

pm_off pool_root(struct pool *pool, char name[POOL_NAME_MAX])
{
    struct superblock PM *on_pm = superblock(pool);
    pm_read(name, &on_pm->root_name, POOL_NAME_MAX);
    name[POOL_NAME_MAX - 1] = '\0';
    return pm_load(&on_pm->root);
}

/* ---- extents ------------------------------------------------------------------------------------ */

static bool unit_is_free(const struct pool *pool, uint64_t unit)
{
    struct pool_unit PM *u = pool_unit(pool, unit);
    const enum pool_kind kind = pool_kind_of(pm_load(&u->descriptor));
    return kind == POOL_FRESH || kind == POOL_FREED;
}

/* The first of length free units in a row at or after from, before to; UINT64_MAX if none. */
static uint64_t find_run(const struct pool *pool, uint64_t length, uint64_t from, uint64_t to)
{
    uint64_t run = 0;
    for (uint64_t unit = from; unit < to; unit++) {
        run = unit_is_free(pool, unit) ? run + 1 : 0;
        if (run == length)
            return unit + 1 - length;
    }
    return UINT64_MAX;
}

/* Makes a unit read as zeroes, durably before its new descriptor commits. */
static void zero_unit(const struct pool *pool, uint64_t unit)
{
    static const char zeroes[4096];
    char PM *bytes = pm_at(&pool->memory, pool_unit_offset(pool, unit));
    for (uint64_t i = 0; i < POOL_UNIT; i += sizeof zeroes)
        pm_stream(bytes + i, zeroes, sizeof zeroes);
}

static void set_descriptor(const struct pool *pool, uint64_t unit, uint64_t word)
{
    uint64_t PM *on_pm = descriptor(pool, unit);
    struct pool_unit PM *u = pool_unit(pool, unit);
    pm_store_release(on_pm, word);
    pm_flush(on_pm, sizeof *on_pm);
    pm_store_release(&u->descriptor, word);
}

uint64_t pool_take_units(struct pool *pool, uint64_t length, enum pool_kind kind, uint8_t tag,
                         unsigned class)
{
    struct pool_shared PM *shared = pool_shared(pool);
    lock_acquire(&shared->lock, pool->generation);
    const uint64_t hint = pm_load(&shared->hint);
    uint64_t unit = find_run(pool, length, hint, pool->units);
    if (unit == UINT64_MAX) {
        const uint64_t end = hint + length - 1 < pool->units ? hint + length - 1 : pool->units;
        unit = find_run(pool, length, 0, end);
    }
    if (unit != UINT64_MAX) {
        pm_store(&shared->hint, unit + length);
        for (uint64_t i = 0; i < length; i++) {
            struct pool_unit PM *u = pool_unit(pool, unit + i);
            if (pool_kind_of(pm_load(&u->descriptor)) != POOL_FRESH)
                zero_unit(pool, unit + i);
            if (i)
                set_descriptor(pool, unit + i, pool_descriptor(unit + i, POOL_MORE, 0, 0, 0));
        }
        pm_fence(); /* zeroes and the rest of the run first; then the word that commits */
        set_descriptor(pool, unit, pool_descriptor(unit, kind, tag, class, length));
        pm_fence();
    }
    lock_release(&shared->lock, pool->generation);
    return unit;
}

pm_off pool_extent_alloc(struct pool *pool, uint64_t size, uint8_t tag)
{
    assert(size && tag && tag <= POOL_TAG_MAX);
    const uint64_t length = (size - 1) / POOL_UNIT + 1;
    if (length > pool->units)
        return 0;
    uint64_t unit = pool_take_units(pool, length, POOL_EXTENT, tag, 0);
    if (unit == UINT64_MAX && pool_block_give_back(pool))
        unit = pool_take_units(pool, length, POOL_EXTENT, tag, 0);
    return unit == UINT64_MAX ? 0 : pool_unit_offset(pool, unit);
}

void pool_extent_free(struct pool *pool, pm_off extent)
{
    const uint64_t unit = (extent - pool->first_unit) / POOL_UNIT;
    struct pool_shared PM *shared = pool_shared(pool);
    struct pool_unit PM *u = pool_unit(pool, unit);
    lock_acquire(&shared->lock, pool->generation);
    const uint64_t word = pm_load(&u->descriptor);
    assert(pool_kind_of(word) == POOL_EXTENT || pool_kind_of(word) == POOL_BLOCKS);
    /* This commits: a POOL_MORE without its first unit is free. */
    set_descriptor(pool, unit, pool_descriptor(unit, POOL_FREED, 0, 0, 0));
    pm_fence();
    for (uint64_t i = unit + 1; i < unit + pool_length_of(word); i++) {
        struct pool_unit PM *more = pool_unit(pool, i);
        const uint64_t freed = pool_descriptor(i, POOL_FREED, 0, 0, 0);
        pm_store_release(&more->descriptor, freed);
    }
    pm_store(&u->marked, 0);
    lock_release(&shared->lock, pool->generation);
}

int pool_extents(struct pool *pool, uint8_t tag,
                 int (*visit)(void *arg, pm_off extent, uint64_t size), void *arg)
{
    int stop = 0;
    for (uint64_t unit = 0; unit < pool->units && !stop; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        const uint64_t word = pm_load(&u->descriptor);
        if (pool_kind_of(word) == POOL_EXTENT && pool_tag_of(word) == tag)
            stop = visit(arg, pool_unit_offset(pool, unit), pool_length_of(word) * POOL_UNIT);
    }
    return stop;
}

/* ---- reachability --------------------------------------------------------------------------------- */

void pool_mark_begin(struct pool *pool)
{
    for (uint64_t unit = 0; unit < pool->units; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        pm_store(&u->marked, 0);
    }
}

int pool_mark(struct pool *pool, pm_off block, uint64_t size)
{
    if (block < pool->first_unit || block >= pool_unit_offset(pool, pool->units))
        return -EIO;
    const uint64_t unit = (block - pool->first_unit) / POOL_UNIT;
    struct pool_unit PM *u = pool_unit(pool, unit);
    const uint64_t word = pm_load(&u->descriptor);
    if (pool_kind_of(word) == POOL_BLOCKS)
        return pool_block_mark(pool, unit, block, size);
    if (pool_kind_of(word) != POOL_EXTENT || block != pool_unit_offset(pool, unit) ||
        size > pool_length_of(word) * POOL_UNIT)
        return -EIO;
    const uint32_t before = pm_load(&u->marked);
    if (before)
        return -EIO;
    pm_store(&u->marked, 1);
    return 0;
}

/* Nothing of this unit was reached. */
static bool unit_is_lost(struct pool_unit PM *u)
{
    const uint64_t word = pm_load(&u->descriptor);
    if (pool_kind_of(word) == POOL_EXTENT) {
        const uint32_t marked = pm_load(&u->marked);
        return !marked;
    }
    return pool_kind_of(word) == POOL_BLOCKS && pool_block_unit_is_empty(u);
}

uint64_t pool_mark_end(struct pool *pool)
{
    uint64_t freed = 0;
    for (uint64_t unit = 0; unit < pool->units; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        const uint64_t word = pm_load(&u->descriptor);
        if (unit_is_lost(u)) {
            pool_extent_free(pool, pool_unit_offset(pool, unit));
            freed += pool_length_of(word) * POOL_UNIT;
        } else if (pool_kind_of(word) == POOL_BLOCKS) {
            const uint32_t free_count = pm_load(&u->free_count);
            if (free_count)
                pool_block_list(pool, unit);
        }
    }
    return freed;
}

uint64_t pool_used(const struct pool *pool, uint64_t *allocated)
{
    uint64_t used = 0;
    *allocated = 0;
    for (uint64_t unit = 0; unit < pool->units; unit++) {
        struct pool_unit PM *u = pool_unit(pool, unit);
        const uint64_t word = pm_load(&u->descriptor);
        const enum pool_kind kind = pool_kind_of(word);
        if (kind != POOL_EXTENT && kind != POOL_BLOCKS)
            continue;
        uint64_t inside = pool_length_of(word) * POOL_UNIT;
        used += inside;
        if (kind == POOL_BLOCKS) {
            const uint32_t free_count = pm_load(&u->free_count);
            const unsigned class = pool_class_of(word);
            inside = (uint64_t)(pool_blocks_per_unit(class) - free_count) * pool_class_size[class];
        }
        *allocated += inside;
    }
    return used;
}

bool pool_locate(const struct pool *pool, pm_off offset, uint8_t *tag, uint64_t *number,
                 uint64_t *byte)
{
    if (offset < pool->first_unit || offset >= pool_unit_offset(pool, pool->units))
        return false;
    uint64_t unit = (offset - pool->first_unit) / POOL_UNIT;
    uint64_t word = 0;
    for (;; unit--) { /* back to the extent's first unit */
        struct pool_unit PM *u = pool_unit(pool, unit);
        word = pm_load(&u->descriptor);
        if (pool_kind_of(word) != POOL_MORE || unit == 0)
            break;
    }
    const uint64_t inside = offset - pool_unit_offset(pool, unit);
    *tag = pool_tag_of(word);
    if (pool_kind_of(word) == POOL_EXTENT) {
        *number = unit;
        *byte = inside;
        return true;
    }
    if (pool_kind_of(word) != POOL_BLOCKS)
        return false;
    const unsigned class = pool_class_of(word);
    *number = unit * pool_blocks_per_unit(class) + inside / pool_class_size[class];
    *byte = inside % pool_class_size[class];
    return true;
}

/* ---- stores of one extent ------------------------------------------------------------------------- */

int pool_single_make(struct pool *pool, const char *name, uint64_t size)
{
    char owner[POOL_NAME_MAX] = "";
    snprintf(owner, sizeof owner, "%s", name);
    const pm_off extent = pool_extent_alloc(pool, size, 1);
    if (!extent)
        return -ENOSPC;
    pool_set_root(pool, owner, extent);
    return 0;
}

int pool_single_find(struct pool *pool, const char *name, pm_off *extent, uint64_t *size)
{
    char owner[POOL_NAME_MAX];
    *extent = pool_root(pool, owner);
    if (!*extent || strcmp(owner, name) != 0)
        return -EINVAL;
    pool_mark_begin(pool);
    const int error = pool_mark(pool, *extent, POOL_UNIT);
    if (error)
        return error;
    struct pool_unit PM *u = pool_unit(pool, (*extent - pool->first_unit) / POOL_UNIT);
    const uint64_t word = pm_load(&u->descriptor);
    if (pool_kind_of(word) != POOL_EXTENT)
        return -EIO;
    *size = pool_length_of(word) * POOL_UNIT;
    pool_start(pool);
    pool_mark_end(pool);
    return 0;
}

/* ---- the volatile region -------------------------------------------------------------------------- */

pm_off pool_dram_alloc(struct pool *pool, uint64_t size)
{
    struct pool_shared PM *shared = pool_shared(pool);
    const uint64_t rounded = (size + PM_LINE - 1) / PM_LINE * PM_LINE;
    if (rounded < size || rounded > pool->dram.size)
        return 0;
    uint64_t next = pm_load_relaxed(&shared->dram_next);
    do {
        if (next > pool->dram.size - rounded)
            return 0;
    } while (!pm_cas(&shared->dram_next, &next, next + rounded));
    return next;
}

uint64_t pool_dram_used(const struct pool *pool)
{
    struct pool_shared PM *shared = pool_shared(pool);
    return pm_load_relaxed(&shared->dram_next);
}

const struct pool_ops PM_NAME(pool) = {
    .create = pool_create,
    .open = pool_open,
    .close = pool_close,
    .used = pool_used,
};
