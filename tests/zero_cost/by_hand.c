/* by_hand.c -- door.c as one would write it for the machine alone: plain pointers, the compiler's
 * atomics with C11's orders, libpmem. No word of pm.h.
 */
#include <libpmem.h>
#include <string.h>

#include "backends/native.h"
#include "tests/zero_cost/pieces.h"

#define PRIME UINT64_C(0xc6a4a7935bd1e995)

static inline uint64_t hash_block(uint64_t hash, uint64_t word)
{
    word *= PRIME;
    word ^= word >> 47;
    word *= PRIME;
    return (hash ^ word) * PRIME;
}

static inline uint64_t hash_end(uint64_t hash)
{
    hash ^= hash >> 47;
    hash *= PRIME;
    return hash ^ hash >> 47;
}

static inline uint64_t hash_word(uint64_t word)
{
    const uint64_t start = UINT64_C(0xc70f6907) ^ 8 * PRIME;
    return hash_end(hash_block(start, word));
}

static inline bool is_held(uint64_t word)
{
    return word >> 32 == 7 && (word & 1);
}

static inline uint64_t wait_until_free(const uint64_t *lock)
{
    for (;;) {
        const uint64_t word = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
        if (!is_held(word))
            return word;
        native_pause();
    }
}

bool zero_cost_probe(const struct pm_region *pool, const struct pm_region *dram, uint64_t key,
                     uint64_t *value)
{
    const uint64_t hash = hash_word(key);
    const uint64_t *entries = (const uint64_t *)(dram->base + 64);
    const uint64_t offset = __atomic_load_n(&entries[hash & 1023], __ATOMIC_ACQUIRE);
    const struct bucket *b = (const struct bucket *)(pool->base + offset);

    __builtin_prefetch(&b->slots[3]);
    const uint64_t version = wait_until_free(&b->lock);
    for (int i = 0; i < SLOTS; i++) {
        const uint64_t word = __atomic_load_n(&b->slots[i].key, __ATOMIC_RELAXED);
        if (word != key)
            continue;
        *value = __atomic_load_n(&b->slots[i].value, __ATOMIC_ACQUIRE);
        return __atomic_load_n(&b->lock, __ATOMIC_ACQUIRE) == version;
    }
    return false;
}

static inline bool try_lock(uint64_t *lock)
{
    uint64_t word = __atomic_load_n(lock, __ATOMIC_RELAXED);
    if (is_held(word))
        return false;
    const uint64_t free_word = word >> 32 == 7 ? word : UINT64_C(7) << 32;
    return __atomic_compare_exchange_n(lock, &word, free_word | 1, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

int zero_cost_insert(const struct pm_region *pool, pm_off offset, uint64_t key, uint64_t value)
{
    struct bucket *b = (struct bucket *)(pool->base + offset);
    int error = -1;

    while (!try_lock(&b->lock))
        native_pause();
    const uint64_t used = b->used;
    if (used < SLOTS) {
        b->slots[used].value = value;
        __atomic_store_n(&b->slots[used].key, key, __ATOMIC_RELAXED);
        pmem_flush(&b->slots[used], sizeof b->slots[used]);
        pmem_drain();
        __atomic_store_n(&b->used, used + 1, __ATOMIC_RELEASE);
        pmem_flush(&b->used, sizeof b->used);
        pmem_drain();
        error = 0;
    }
    const uint64_t word = __atomic_load_n(&b->lock, __ATOMIC_RELAXED);
    __atomic_store_n(&b->lock, UINT64_C(7) << 32 | ((word + 1) & UINT32_MAX), __ATOMIC_RELEASE);
    return error;
}

uint64_t zero_cost_persist(const struct pm_region *pool, pm_off offset, const void *record,
                           size_t size)
{
    struct tail *log = (struct tail *)(pool->base + offset);
    char *bytes = pool->base + offset + sizeof(struct tail);

    const uint64_t at = __atomic_fetch_add(&log->reserved, size, __ATOMIC_ACQ_REL);
    pmem_memcpy(bytes + at, record, size, PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN);
    pmem_drain();
    memcpy(&log->last, record, sizeof log->last);
    __atomic_store_n(&log->size, at + size, __ATOMIC_RELEASE);
    pmem_flush(&log->size, sizeof log->size);
    pmem_drain();
    return at;
}
