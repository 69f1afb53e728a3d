/* door.c -- three pieces of a store through the door. by_hand.c is the same without it, and
 * check_zero_cost.sh says that the compilers make the same instructions of both.
 */
#include "backends/pm.h"
#include "core/hash.h"
#include "core/lock.h"

#include "tests/zero_cost/pieces.h"

bool zero_cost_probe(const struct pm_region *pool, const struct pm_region *dram, uint64_t key,
                     uint64_t *value)
{
    const uint64_t hash = hash_murmur_word(key);
    const pm_off PM *entries = pm_at(dram, 64);
    const pm_off offset = pm_load_acquire(&entries[hash & 1023]);
    const struct bucket PM *b = pm_at(pool, offset);

    pm_prefetch(&b->slots[3]);
    const uint64_t version = lock_read_begin(&b->lock, 7);
    pm_use();
    for (int i = 0; i < SLOTS; i++) {
        const uint64_t word = pm_load_relaxed(&b->slots[i].key);
        if (word != key)
            continue;
        *value = pm_load_acquire(&b->slots[i].value);
        return lock_read_end(&b->lock, version);
    }
    return false;
}

int zero_cost_insert(const struct pm_region *pool, pm_off offset, uint64_t key, uint64_t value)
{
    struct bucket PM *b = pm_at(pool, offset);
    int error = -1;

    lock_acquire(&b->lock, 7);
    const uint64_t used = pm_load(&b->used);
    if (used < SLOTS) {
        pm_store(&b->slots[used].value, value);
        pm_store_relaxed(&b->slots[used].key, key);
        pm_flush(&b->slots[used], sizeof b->slots[used]);
        pm_fence();
        pm_store_release(&b->used, used + 1);
        pm_persist(&b->used, sizeof b->used);
        error = 0;
    }
    lock_release(&b->lock, 7);
    return error;
}

uint64_t zero_cost_persist(const struct pm_region *pool, pm_off offset, const void *record,
                           size_t size)
{
    struct tail PM *log = pm_at(pool, offset);
    char PM *bytes = pm_at(pool, offset + sizeof(struct tail));

    const uint64_t at = pm_fetch_add(&log->reserved, size);
    pm_stream(bytes + at, record, size);
    pm_fence();
    pm_write(&log->last, record, sizeof log->last);
    pm_store_release(&log->size, at + size);
    pm_persist(&log->size, sizeof log->size);
    return at;
}
