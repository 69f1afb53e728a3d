/* The pool: extents, blocks, restart, damage. Compiled for both targets; see core.cmake. */
#include <errno.h>
#include <string.h>

#include "core/lock.h"
#include "core/pool_block.h"
#include "tests/regions.h"

#define TARGET (strcmp(PM_STR_(PM_TARGET), "emul") == 0 ? TARGET_EMUL : TARGET_NATIVE)

static struct backend *machine;
static struct pool pool;
static char why[POOL_WHY_MAX];

static int create(void)
{
    return pool_create(&pool, backend_pool(machine), backend_volatile(machine), why);
}

static int reopen(void)
{
    regions_wipe(machine);
    const int error = pool_open(&pool, backend_pool(machine), backend_volatile(machine), why);
    if (!error)
        pool_start(&pool);
    return error;
}

static void start(uint64_t mib)
{
    machine = regions_open(mib, 8);
    cr_assert_eq(create(), 0, "%s", why);
}

static void small_pool(void)
{
    start(4);
}

static void big_pool(void)
{
    start(64);
}

static void stop(void)
{
    backend_close(machine);
}

TestSuite(pool, .init = small_pool, .fini = stop);
TestSuite(crowded_pool, .init = big_pool, .fini = stop);

static unsigned char *bytes_at(pm_off offset)
{
    return (unsigned char *)pool.memory.base + offset;
}

static uint64_t block_bytes(void)
{
    uint64_t bytes = 0;
    pool_used(&pool, &bytes);
    return bytes;
}

static uint64_t unit_bytes(void)
{
    uint64_t bytes = 0;
    return pool_used(&pool, &bytes);
}

static bool all_are(const unsigned char *p, unsigned char value, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        if (p[i] != value)
            return false;
    return true;
}

enum { MOST = 1 << 17 };
static pm_off taken[MOST];

/* Takes blocks of size until the pool is full; how many. */
static int take_all(uint64_t size, uint8_t tag)
{
    int count = 0;
    for (pm_off block; count < MOST && (block = pool_alloc(&pool, size, tag)) != 0;)
        taken[count++] = block;
    cr_assert_lt(count, MOST);
    return count;
}

static void free_all(int count)
{
    while (count--)
        pool_free(&pool, taken[count]);
}

/* ---- root and restart ----------------------------------------------------------------------------- */

Test(pool, a_new_pool_has_no_root_and_owns_nothing)
{
    char name[POOL_NAME_MAX];
    cr_assert_eq(pool_root(&pool, name), 0);
    cr_assert_eq(unit_bytes(), 0);
    cr_assert_eq(block_bytes(), 0);
}

Test(pool, a_restart_finds_the_root_and_its_owner)
{
    char name[POOL_NAME_MAX] = "somebody";
    const pm_off extent = pool_extent_alloc(&pool, 100, 1);
    pool_set_root(&pool, name, extent);
    cr_assert_eq(reopen(), 0, "%s", why);
    memset(name, 0, sizeof name);
    cr_assert_eq(pool_root(&pool, name), extent);
    cr_assert_str_eq(name, "somebody");
}

Test(pool, a_restart_frees_what_nobody_marks_and_keeps_the_rest)
{
    const pm_off extent = pool_extent_alloc(&pool, 3 * POOL_UNIT, 1);
    const pm_off lost = pool_extent_alloc(&pool, 2 * POOL_UNIT, 1);
    pm_off kept[10];
    for (int i = 0; i < 10; i++) {
        kept[i] = pool_alloc(&pool, 1024, 2);
        memset(bytes_at(kept[i]), i + 1, 1024);
        cr_assert_neq(pool_alloc(&pool, 1024, 2), 0);
    }
    memset(bytes_at(extent), 0xab, 3 * POOL_UNIT);
    cr_assert_eq(block_bytes(), 20 * 1024 + 5 * POOL_UNIT);

    cr_assert_eq(reopen(), 0, "%s", why);
    pool_mark_begin(&pool);
    cr_assert_eq(pool_mark(&pool, extent, 1), 0);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(pool_mark(&pool, kept[i], 1), 0);
    cr_assert_eq(pool_mark_end(&pool), 2 * POOL_UNIT);
    cr_assert_eq(block_bytes(), 10 * 1024 + 3 * POOL_UNIT);
    cr_assert_eq(unit_bytes(), 4 * POOL_UNIT);

    const int count = take_all(1024, 2);
    for (int i = 0; i < count; i++)
        memset(bytes_at(taken[i]), 0xff, 1024);
    cr_assert(all_are(bytes_at(extent), 0xab, 3 * POOL_UNIT));
    for (int i = 0; i < 10; i++)
        cr_assert(all_are(bytes_at(kept[i]), (unsigned char)(i + 1), 1024), "block %d", i);
    cr_assert_eq(count, (int)(pool.units - 3) * 64 - 10, "units of %lu are usable again", lost);
}

Test(pool, marking_twice_or_something_else_is_damage)
{
    const pm_off extent = pool_extent_alloc(&pool, 2 * POOL_UNIT, 1);
    const pm_off block = pool_alloc(&pool, 320, 1);
    cr_assert_eq(reopen(), 0, "%s", why);
    pool_mark_begin(&pool);
    cr_assert_eq(pool_mark(&pool, extent, 1), 0);
    cr_assert_eq(pool_mark(&pool, extent, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, block, 1), 0);
    cr_assert_eq(pool_mark(&pool, block, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, block + 64, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, pool_alloc(&pool, 128, 1), 129), -EIO, "too short");
    cr_assert_eq(pool_mark(&pool, extent + POOL_UNIT, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, extent + 64, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, 64, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, pool.memory.size, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, UINT64_MAX, 1), -EIO);
    cr_assert_eq(pool_mark(&pool, pool_unit_offset(&pool, pool.units - 1), 1), -EIO);
}

Test(pool, a_lock_of_an_older_opening_is_free)
{
    const pm_off block = pool_alloc(&pool, 64, 1);
    uint64_t PM *lock = pm_at(&pool.memory, block);
    pm_store(lock, 0);
    cr_assert(lock_try(lock, pool.generation));
    cr_assert_not(lock_try(lock, pool.generation));
    const uint32_t before = pool.generation;
    cr_assert_eq(reopen(), 0, "%s", why);
    cr_assert_eq(pool.generation, before + 1);
    lock = pm_at(&pool.memory, block);
    cr_assert(lock_try(lock, pool.generation));
}

Test(pool, a_reader_notices_that_a_writer_came_between)
{
    const pm_off block = pool_alloc(&pool, 64, 1);
    uint64_t PM *lock = pm_at(&pool.memory, block);
    pm_store(lock, 0);
    uint64_t version = lock_read_begin(lock, pool.generation);
    cr_assert(lock_read_end(lock, version));
    lock_acquire(lock, pool.generation);
    cr_assert_not(lock_read_end(lock, version));
    lock_release(lock, pool.generation);
    cr_assert_not(lock_read_end(lock, version));
    version = lock_read_begin(lock, pool.generation);
    cr_assert(lock_read_end(lock, version));
    pm_store(lock, (uint64_t)pool.generation << 32 | UINT32_MAX); /* held, at the last version */
    lock_release(lock, pool.generation);
    cr_assert_eq(pm_load(lock), (uint64_t)pool.generation << 32);
}

/* ---- extents -------------------------------------------------------------------------------------- */

Test(pool, extents_are_aligned_apart_and_read_as_zeroes_also_when_reused)
{
    for (int round = 0; round < 3; round++) {
        pm_off extents[8];
        for (int i = 0; i < 8; i++) {
            const uint64_t size = (uint64_t)(i + 1) * 40000;
            extents[i] = pool_extent_alloc(&pool, size, 1);
            cr_assert_neq(extents[i], 0);
            cr_assert_eq(extents[i] % POOL_UNIT, 0);
            cr_assert(all_are(bytes_at(extents[i]), 0, size), "round %d, extent %d", round, i);
            memset(bytes_at(extents[i]), i + 1, size);
        }
        for (int i = 0; i < 8; i++)
            cr_assert(all_are(bytes_at(extents[i]), (unsigned char)(i + 1), (i + 1) * 40000));
        for (int i = 0; i < 8; i++)
            pool_extent_free(&pool, extents[i]);
        cr_assert_eq(unit_bytes(), 0);
    }
}

Test(pool, a_full_pool_gives_no_extent_and_a_freed_one_fits_again)
{
    const uint64_t all = pool.units * POOL_UNIT;
    cr_assert_eq(pool_extent_alloc(&pool, all + 1, 1), 0);
    cr_assert_eq(pool_extent_alloc(&pool, UINT64_MAX, 1), 0);
    const pm_off extent = pool_extent_alloc(&pool, all, 1);
    cr_assert_neq(extent, 0);
    cr_assert_eq(pool_extent_alloc(&pool, 1, 1), 0);
    cr_assert_eq(pool_alloc(&pool, 64, 1), 0);
    pool_extent_free(&pool, extent);
    cr_assert_neq(pool_extent_alloc(&pool, all, 1), 0);
}

Test(pool, all_units_of_a_freed_extent_are_free_after_a_restart)
{
    const uint64_t all = pool.units * POOL_UNIT;
    pool_extent_free(&pool, pool_extent_alloc(&pool, all, 1));
    cr_assert_eq(reopen(), 0, "%s", why);
    pool_mark_begin(&pool);
    pool_mark_end(&pool);
    cr_assert_neq(pool_extent_alloc(&pool, all, 1), 0);
}

Test(pool, an_extent_whose_descriptor_was_not_written_is_free)
{
    /* As a power cut leaves it: the further units are marked, the first word is not there yet. */
    const pm_off extent = pool_extent_alloc(&pool, 4 * POOL_UNIT, 1);
    const uint64_t unit = (extent - pool.first_unit) / POOL_UNIT;
    memset(bytes_at(4096 + unit * 8), 0, 8);
    cr_assert_eq(reopen(), 0, "%s", why);
    cr_assert_eq(unit_bytes(), 0);
    cr_assert_neq(pool_extent_alloc(&pool, pool.units * POOL_UNIT, 1), 0);
}

struct seen {
    pm_off first;
    uint64_t count, bytes;
};

static int see_extent(void *arg, pm_off extent, uint64_t size)
{
    struct seen *seen = arg;
    if (!seen->count++)
        seen->first = extent;
    seen->bytes += size;
    return 0;
}

static int see_block(void *arg, pm_off block, uint64_t size)
{
    return see_extent(arg, block, size);
}

Test(pool, an_owner_finds_its_extents_and_block_positions_by_tag)
{
    const pm_off mine = pool_extent_alloc(&pool, POOL_UNIT + 1, 3);
    pool_extent_alloc(&pool, 10, 4);
    const pm_off block = pool_alloc(&pool, 512, 3);
    struct seen extents = {0}, blocks = {0};
    cr_assert_eq(pool_extents(&pool, 3, see_extent, &extents), 0);
    cr_assert_eq(extents.count, 1);
    cr_assert_eq(extents.first, mine);
    cr_assert_eq(extents.bytes, 2 * POOL_UNIT);
    cr_assert_eq(pool_blocks(&pool, 3, see_block, &blocks), 0);
    cr_assert_eq(blocks.count, POOL_UNIT / 512);
    cr_assert_eq(blocks.first, block);
    cr_assert_eq(blocks.bytes, POOL_UNIT);

    uint8_t tag;
    uint64_t number, byte;
    cr_assert(pool_locate(&pool, mine + POOL_UNIT + 7, &tag, &number, &byte));
    cr_assert_eq(tag, 3);
    cr_assert_eq(byte, POOL_UNIT + 7);
    cr_assert(pool_locate(&pool, block + 512 + 40, &tag, &number, &byte));
    cr_assert_eq(byte, 40);
    cr_assert_not(pool_locate(&pool, 0, &tag, &number, &byte));
    cr_assert_not(pool_locate(&pool, pool.memory.size - 1, &tag, &number, &byte));
}

Test(pool, a_store_of_one_extent_is_found_by_its_name_only)
{
    pm_off extent = 0;
    uint64_t size = 0;
    cr_assert_eq(pool_single_find(&pool, "table", &extent, &size), -EINVAL);
    cr_assert_eq(pool_single_make(&pool, "table", pool.memory.size), -ENOSPC);
    cr_assert_eq(pool_single_make(&pool, "table", 100000), 0);
    const uint64_t used = unit_bytes();
    pool_alloc(&pool, 64, 1); /* lost: nobody refers to it */
    cr_assert_eq(reopen(), 0, "%s", why);
    cr_assert_eq(pool_single_find(&pool, "tables", &extent, &size), -EINVAL);
    cr_assert_eq(pool_single_find(&pool, "table", &extent, &size), 0);
    cr_assert_eq(size, 2 * POOL_UNIT);
    cr_assert_eq(unit_bytes(), used);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

Test(pool, blocks_of_every_size_are_aligned_and_apart)
{
    static const uint64_t sizes[] = {1,   63,   64,   65,   256,  300,  511,   512,   513,   768,
                                     900, 1024, 2048, 4096, 5000, 8192, 16384, 20000, 32768, 32769};
    enum { SIZES = sizeof sizes / sizeof sizes[0], EACH = 3 };
    pm_off blocks[SIZES][EACH];
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < EACH; j++) {
            blocks[i][j] = pool_alloc(&pool, sizes[i], 1);
            cr_assert_neq(blocks[i][j], 0, "size %lu", sizes[i]);
            cr_assert_eq(blocks[i][j] % (sizes[i] % PM_XPLINE ? PM_LINE : PM_XPLINE), 0);
            memset(bytes_at(blocks[i][j]), i * EACH + j, sizes[i]);
        }
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < EACH; j++)
            cr_assert(all_are(bytes_at(blocks[i][j]), (unsigned char)(i * EACH + j), sizes[i]),
                      "size %lu", sizes[i]);
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < EACH; j++)
            pool_free(&pool, blocks[i][j]);
    cr_assert_eq(block_bytes(), 0);
}

Test(pool, every_xpline_multiple_is_xpline_aligned)
{
    for (uint64_t size = PM_XPLINE; size <= POOL_SMALL_MAX; size += PM_XPLINE) {
        const pm_off first = pool_alloc(&pool, size, 1), second = pool_alloc(&pool, size, 1);
        cr_assert(first && second);
        cr_assert_eq(first % PM_XPLINE, 0);
        cr_assert_eq(second % PM_XPLINE, 0, "size %lu", size);
        if ((size & (size - 1)) == 0)
            cr_assert_eq(second - first, size, "a power of two wastes nothing");
        pool_free(&pool, second);
        pool_free(&pool, first);
    }
}

Test(pool, a_block_that_nobody_had_reads_as_zeroes)
{
    const int count = take_all(1024, 1);
    for (int i = 0; i < count; i++)
        memset(bytes_at(taken[i]), 0xee, 1024);
    free_all(count);
    const pm_off first = pool_alloc(&pool, 2048, 2); /* a unit that goes to another class */
    cr_assert_neq(first, 0);
    cr_assert(all_are(bytes_at(first), 0, POOL_UNIT));
}

Test(pool, freed_blocks_are_used_again)
{
    const int count = take_all(192, 1);
    cr_assert_eq(count, (int)pool.units * (POOL_UNIT / 192));
    cr_assert_eq(pool_alloc(&pool, 192, 1), 0);
    free_all(count);
    cr_assert_eq(block_bytes(), 0);
    cr_assert_eq(take_all(192, 1), count);
    pool_free(&pool, taken[count / 2]);
    cr_assert_eq(pool_alloc(&pool, 192, 1), taken[count / 2]);
}

Test(pool, one_size_does_not_starve_the_others_for_ever)
{
    free_all(take_all(64, 1));
    cr_assert_eq(take_all(4096, 2), (int)pool.units * 16);
    free_all((int)pool.units * 16);
    cr_assert_neq(pool_extent_alloc(&pool, pool.units * POOL_UNIT, 1), 0);
}

Test(pool, the_volatile_region_gives_zeroed_lines_until_it_is_full)
{
    const pm_off first = pool_dram_alloc(&pool, 1), second = pool_dram_alloc(&pool, 100);
    cr_assert_eq(second - first, PM_LINE);
    cr_assert(all_are((unsigned char *)pool.dram.base + second, 0, 100));
    cr_assert_eq(pool_dram_alloc(&pool, pool.dram.size), 0);
    cr_assert_eq(pool_dram_alloc(&pool, UINT64_MAX), 0);
    cr_assert_neq(pool_dram_alloc(&pool, pool.dram.size - pool_dram_used(&pool)), 0);
    cr_assert_eq(pool_dram_alloc(&pool, 1), 0);
}

/* ---- many workers --------------------------------------------------------------------------------- */

enum { WORKERS = 8, HELD = 64, TURNS = 2000 };

struct held {
    pm_off block[HELD];
    uint64_t size[HELD];
};

static struct held hands[WORKERS];

/* Every block carries its holder's stamp at both ends; a block given out twice loses one. */
static void churn(void *arg, int self)
{
    uint64_t seed = (uint64_t)self + 1;
    struct held *h = &hands[self];
    bool *intact = arg;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t r = random_next(&seed);
        const unsigned i = r % HELD;
        if (h->block[i]) {
            uint64_t PM *p = pm_at(&pool.memory, h->block[i]);
            const uint64_t stamp = h->block[i] << 8 | (uint64_t)self;
            const uint64_t low = pm_load(p), high = pm_load(p + h->size[i] / 8 - 1);
            if (low != stamp || high != stamp)
                intact[self] = false;
            pool_free(&pool, h->block[i]);
            h->block[i] = 0;
            continue;
        }
        h->size[i] = (r >> 20) % 8 ? 64 * ((r >> 8) % 16 + 1) : 40960; /* now and then an extent */
        h->block[i] = pool_alloc(&pool, h->size[i], 1 + (uint8_t)(r >> 30) % 3);
        if (!h->block[i])
            continue;
        uint64_t PM *p = pm_at(&pool.memory, h->block[i]);
        const uint64_t stamp = h->block[i] << 8 | (uint64_t)self;
        pm_store(p, stamp);
        pm_store(p + h->size[i] / 8 - 1, stamp);
    }
}

Test(crowded_pool, workers_never_get_the_same_block)
{
    bool intact[WORKERS];
    memset(intact, 1, sizeof intact);
    regions_run(machine, TARGET, WORKERS, churn, intact);
    for (int w = 0; w < WORKERS; w++)
        cr_assert(intact[w], "worker %d", w);

    for (int w = 0; w < WORKERS; w++)
        for (int i = 0; i < HELD; i++)
            if (hands[w].block[i])
                pool_free(&pool, hands[w].block[i]);
    cr_assert_eq(block_bytes(), 0);
    cr_assert_neq(pool_extent_alloc(&pool, pool.units * POOL_UNIT, 1), 0, "nothing leaked");
}

static pm_off given[WORKERS];

/* Worker 0 has what there is; the others still get all of it. */
static void take_what_others_have(void *arg, int self)
{
    (void)arg;
    if (self == 0)
        return;
    given[self] = pool_alloc(&pool, 64, 1);
}

Test(pool, the_last_blocks_are_for_every_worker)
{
    const int count = take_all(64, 1);
    for (int i = 1; i < WORKERS; i++)
        pool_free(&pool, taken[count - i]);
    regions_run(machine, TARGET, WORKERS, take_what_others_have, NULL);
    for (int i = 1; i < WORKERS; i++)
        cr_assert_neq(given[i], 0, "worker %d", i);
    cr_assert_eq(pool_alloc(&pool, 64, 1), 0);
}

/* ---- damage --------------------------------------------------------------------------------------- */

/* Opening fails with error, says why with these words, and changes no byte. */
static void refused(int error, const char *words)
{
    const uint64_t size = backend_pool(machine)->size;
    unsigned char *before = malloc(size);
    cr_assert_not_null(before);
    memcpy(before, backend_pool(machine)->base, size);
    why[0] = '\0';
    cr_assert_eq(reopen(), error, "%s", why);
    cr_assert_not_null(strstr(why, words), "%s", why);
    cr_assert_eq(memcmp(before, backend_pool(machine)->base, size), 0);
    free(before);
}

static uint64_t *word(pm_off offset)
{
    return (uint64_t *)(void *)(backend_pool(machine)->base + offset);
}

Test(pool, what_is_no_pool_is_refused_and_left_alone)
{
    memset(backend_pool(machine)->base, 0, backend_pool(machine)->size);
    refused(-EINVAL, "not a pmtwin pool");
    memset(backend_pool(machine)->base, 0x5a, backend_pool(machine)->size);
    refused(-EINVAL, "not a pmtwin pool");
}

Test(pool, a_torn_superblock_is_refused_and_left_alone)
{
    for (int field = 1; field <= 6; field++) { /* version .. checksum */
        const uint64_t before = *word((pm_off)field * 8);
        *word((pm_off)field * 8) ^= UINT64_C(1) << 17;
        if (field == 1)
            refused(-EINVAL, "newer than this program");
        else
            refused(-EIO, "checksum");
        *word((pm_off)field * 8) = before;
    }
    cr_assert_eq(reopen(), 0, "%s", why);
}

Test(pool, a_pool_of_another_size_is_refused_and_left_alone)
{
    struct pm_region *region = backend_pool(machine);
    region->size -= 2 << 20;
    refused(-EINVAL, "bytes long");
    region->size = 4096;
    refused(-EINVAL, "too short");
    region->size = 4 << 20;
    cr_assert_eq(reopen(), 0, "%s", why);
}

Test(pool, an_impossible_descriptor_is_refused_and_left_alone)
{
    const uint64_t impossible[] = {
        pool_descriptor(3, (enum pool_kind)0xff, 0, 0, 0), /* no such kind */
        pool_descriptor(3, POOL_EXTENT, 1, 0, 256),        /* longer than the pool */
        pool_descriptor(3, POOL_EXTENT, 1, 0, 2),          /* its second unit is fresh */
        pool_descriptor(3, POOL_EXTENT, 1, 0, 0),          /* of no units */
        pool_descriptor(3, POOL_EXTENT, 0, 0, 1),          /* of nobody */
        pool_descriptor(3, POOL_BLOCKS, 1, POOL_CLASSES, 1),
        pool_descriptor(3, POOL_BLOCKS, 1, 0, 2),          /* blocks in two units */
        pool_descriptor(4, POOL_EXTENT, 1, 0, 1),          /* another unit's */
        pool_descriptor(3, POOL_FREED, 0, 0, 0) ^ 1,       /* one wrong bit */
    };
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        *word(4096 + 8 * 3) = impossible[i];
        refused(-EIO, "unit 3");
    }
    *word(4096 + 8 * 3) = 0;
    cr_assert_eq(reopen(), 0, "%s", why);
}

Test(pool, a_lost_descriptor_is_not_taken_for_a_unit_that_never_was_in_use)
{
    const pm_off freed = pool_extent_alloc(&pool, 1, 1);
    cr_assert_neq(pool_extent_alloc(&pool, 1, 1), 0);
    pool_extent_free(&pool, freed);
    *word(4096) = 0;
    refused(-EIO, "unit 1");
}

Test(pool, a_root_outside_of_the_pool_is_refused_and_left_alone)
{
    enum { ROOT = 128 };
    static const uint64_t outside[] = {1, 4096, 4 << 20, UINT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        *word(ROOT) = outside[i];
        refused(-EIO, "root");
    }
}

Test(pool, a_volatile_region_that_is_too_small_is_an_error)
{
    struct pm_region *dram = backend_volatile(machine);
    const uint64_t size = dram->size;
    dram->size = 4096;
    regions_wipe(machine);
    cr_assert_eq(pool_open(&pool, backend_pool(machine), dram, why), -ENOMEM);
    cr_assert_not_null(strstr(why, "volatile"), "%s", why);
    dram->size = size;
}

Test(pool, less_than_a_megabyte_is_no_pool)
{
    struct pm_region *region = backend_pool(machine);
    region->size = 1 << 16;
    cr_assert_eq(create(), -EINVAL);
    cr_assert_not_null(strstr(why, "1 MiB"), "%s", why);
    region->size = 4 << 20;
}
