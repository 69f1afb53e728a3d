/* lock.h -- a lock and a version in one 8-byte word, on persistent or volatile memory.
 *
 *     63        32 31          1    0
 *    | generation |  version  | held |
 *
 * A word whose generation is not the pool's present one is free, whatever else it says: a lock that
 * a crash left needs no repair, and a fresh (zero) word needs no set-up. The generation is durable
 * before the first lock is taken (pool_open). Lock words are never flushed on purpose; they reach
 * the DIMM when their line is flushed for another reason, or is evicted.
 *
 * Writers:  lock_acquire or lock_try, change, persist, lock_release (the version goes up by one).
 * Readers take no lock:  v = lock_read_begin(), read with pm_load_acquire, lock_read_end(v)
 * confirms that no writer came between. The version has 31 bits: a reader would have to sleep
 * through 2^31 changes of one word to be fooled.
 *
 * Threads: that is what it is for. Waiting turns call pm_pause(). No word is waited for while the
 * holder waits for us: each user states its order.
 */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/pm.h"

enum { LOCK_HELD = 1 };

static inline bool lock_is_held(uint64_t word, uint32_t generation)
{
    return word >> 32 == generation && (word & LOCK_HELD);
}

/* Takes the lock unless it is held now. */
static inline bool lock_try(uint64_t PM *lock, uint32_t generation)
{
    uint64_t word = pm_load_relaxed(lock);
    if (lock_is_held(word, generation))
        return false;
    const uint64_t fresh = (uint64_t)generation << 32;
    const uint64_t free_word = word >> 32 == generation ? word : fresh;
    return pm_cas(lock, &word, free_word | LOCK_HELD);
}

static inline void lock_acquire(uint64_t PM *lock, uint32_t generation)
{
    while (!lock_try(lock, generation))
        pm_pause();
}

/* Held and free differ in bit 0, so adding one to a held word frees it and raises the version. */
static inline void lock_release(uint64_t PM *lock, uint32_t generation)
{
    const uint64_t word = pm_load_relaxed(lock);
    const uint64_t version = (word + 1) & UINT32_MAX;
    pm_store_release(lock, (uint64_t)generation << 32 | version);
}

/* Waits until nobody holds the lock; returns the word to hand to lock_read_end(). */
static inline uint64_t lock_read_begin(const uint64_t PM *lock, uint32_t generation)
{
    for (;;) {
        const uint64_t word = pm_load_acquire(lock);
        if (!lock_is_held(word, generation))
            return word;
        pm_pause();
    }
}

/* True if nothing changed since. What was read in between must have been read with acquire loads:
 * they keep this load behind them, and ThreadSanitizer understands them (it knows no fences). */
static inline bool lock_read_end(const uint64_t PM *lock, uint64_t version)
{
    const uint64_t word = pm_load_acquire(lock);
    return word == version;
}

#endif
