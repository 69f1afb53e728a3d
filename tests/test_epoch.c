/* Epochs: a retired block stays as long as a reader may see it, and no longer. Both targets. */
#include <errno.h>
#include <string.h>

#include "core/epoch.h"
#include "tests/regions.h"

#define TARGET (strcmp(PM_STR_(PM_TARGET), "emul") == 0 ? TARGET_EMUL : TARGET_NATIVE)

enum { MANY = 200 };

static struct backend *machine;
static struct pool pool;
static struct epoch epoch;
static pm_off shared; /* in the volatile region */

static void start(void)
{
    char why[POOL_WHY_MAX] = "";
    machine = regions_open(8, 8);
    cr_assert_eq(pool_create(&pool, backend_pool(machine), backend_volatile(machine), why), 0,
                 "%s", why);
    cr_assert_eq(epoch_init(&epoch, &pool), 0);
    shared = pool_dram_alloc(&pool, 4096);
    cr_assert_neq(shared, 0);
}

static void stop(void)
{
    backend_close(machine);
}

TestSuite(epoch, .init = start, .fini = stop);

static uint64_t blocks_in_use(void)
{
    uint64_t bytes = 0;
    pool_used(&pool, &bytes);
    return bytes / 64;
}

static void retire(int count)
{
    while (count--)
        epoch_retire(&epoch, pool_alloc(&pool, 64, 1));
}

Test(epoch, what_no_reader_can_see_is_used_again)
{
    retire(MANY);
    cr_assert_lt(blocks_in_use(), MANY / 2);
    cr_assert(epoch_reclaim(&epoch));
    cr_assert_eq(blocks_in_use(), 0);
    cr_assert_not(epoch_reclaim(&epoch));
}

Test(epoch, what_the_worker_itself_may_see_stays_until_it_leaves)
{
    epoch_enter(&epoch);
    retire(MANY);
    epoch_reclaim(&epoch);
    cr_assert_eq(blocks_in_use(), MANY);
    epoch_leave(&epoch);
    cr_assert(epoch_reclaim(&epoch));
    cr_assert_eq(blocks_in_use(), 0);
}

Test(epoch, the_end_frees_all_that_waits)
{
    epoch_enter(&epoch);
    retire(MANY);
    epoch_leave(&epoch);
    epoch_empty(&epoch);
    cr_assert_eq(blocks_in_use(), 0);
}

Test(epoch, a_volatile_region_without_room_loses_blocks_and_nothing_else)
{
    cr_assert_neq(pool_alloc(&pool, 64, 1), 0); /* its unit has a bitmap now */
    const uint64_t rest = pool.dram.size - pool_dram_used(&pool);
    cr_assert_neq(pool_dram_alloc(&pool, rest), 0);
    retire(10);
    cr_assert_eq(blocks_in_use(), 11);
    struct epoch another;
    cr_assert_eq(epoch_init(&another, &pool), -ENOMEM);
}

/* ---- two workers, in step: worker 0 does the odd steps, worker 1 the even ones --------------------- */

static void await_step(uint64_t step)
{
    uint64_t PM *now = pm_at(&pool.dram, shared);
    for (;;) {
        const uint64_t at = pm_load_acquire(now);
        if (at >= step)
            return;
        pm_pause();
    }
}

static void finish_step(uint64_t step)
{
    uint64_t PM *now = pm_at(&pool.dram, shared);
    pm_store_release(now, step);
}

static uint64_t seen[4];

static void early_and_late_reader(void *arg, int self)
{
    (void)arg;
    if (self == 1) {
        epoch_enter(&epoch); /* before */
        finish_step(1);
        await_step(2);
        epoch_leave(&epoch);
        epoch_enter(&epoch); /* after */
        finish_step(3);
        await_step(4);
        epoch_leave(&epoch);
        return;
    }
    await_step(1);
    retire(MANY);
    epoch_reclaim(&epoch);
    seen[0] = blocks_in_use();
    finish_step(2);
    await_step(3);
    epoch_reclaim(&epoch);
    seen[1] = blocks_in_use();
    retire(MANY);
    epoch_reclaim(&epoch);
    seen[2] = blocks_in_use();
    finish_step(4);
}

Test(epoch, a_reader_holds_back_what_was_retired_after_it_came_and_only_that)
{
    regions_run(machine, TARGET, 2, early_and_late_reader, NULL);
    cr_assert_eq(seen[0], MANY);
    cr_assert_eq(seen[1], 0);
    cr_assert_eq(seen[2], MANY);
}

/* ---- many workers: one word names a block; who changes it retires the old one ----------------------- */

enum { WORKERS = 8, TURNS = 3000, WORDS = 32 };

static bool torn[WORKERS];

static pm_off fresh_block(uint64_t stamp)
{
    const pm_off block = pool_alloc(&pool, WORDS * 8, 1);
    uint64_t PM *words = pm_at(&pool.memory, block);
    for (int i = 0; i < WORDS; i++)
        pm_store_relaxed(&words[i], stamp);
    return block;
}

/* All words of a block are equal, unless it was freed and used again under the reader. */
static bool block_is_whole(pm_off block)
{
    uint64_t PM *words = pm_at(&pool.memory, block);
    const uint64_t first = pm_load_acquire(&words[0]);
    for (int i = 1; i < WORDS; i++) {
        const uint64_t word = pm_load_acquire(&words[i]);
        if (word != first)
            return false;
    }
    return true;
}

static void read_and_replace(void *arg, int self)
{
    (void)arg;
    uint64_t PM *name = pm_at(&pool.dram, shared);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        if ((turn + (uint64_t)self) % 4) {
            epoch_enter(&epoch);
            const pm_off block = pm_load_acquire(name);
            if (!block_is_whole(block))
                torn[self] = true;
            epoch_leave(&epoch);
            continue;
        }
        const pm_off mine = fresh_block(turn << 8 | (uint64_t)self);
        pm_off old = pm_load_acquire(name);
        while (!pm_cas(name, &old, mine))
            ;
        epoch_retire(&epoch, old);
    }
}

Test(epoch, readers_never_see_a_block_that_was_used_again)
{
    uint64_t PM *name = pm_at(&pool.dram, shared);
    pm_store_release(name, fresh_block(0));
    regions_run(machine, TARGET, WORKERS, read_and_replace, NULL);
    for (int w = 0; w < WORKERS; w++)
        cr_assert_not(torn[w], "worker %d", w);
    epoch_empty(&epoch);
    cr_assert_eq(blocks_in_use() * 64, WORDS * 8, "all but the last block came back");
}
