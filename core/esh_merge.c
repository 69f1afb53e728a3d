/* esh_merge.c -- two empty segments that a split once made become one again.
 *
 *   low,  depth d, pattern 0p               low, depth d-1, pattern p     covers both
 *   high, depth d, pattern 1p        -->    high: no segment, spare
 *
 * Asked for when a delete leaves a bucket empty; done when all of both segments is. So a table that
 * is emptied shrinks to one segment, and filling it again, with whatever keys, takes the spare
 * segments before it takes space from the pool.
 *
 * Durability order
 *   1 low's bucket 0: depth d-1, persist. This commits: high is now covered, and recovery drops it
 *   2 low's other buckets and zeroes for high's states, persist
 *   A power cut before 1 leaves both, after it low alone; recovery ends what 2 began.
 *
 * A spare segment stays one: readers and writers who were sent to it by the directory they had read
 * find lock words, whose versions go on, and a state that covers nothing. It goes back to the pool
 * when the table is opened again.
 *
 * Locks: all of low, then all of high, then the directory. A split locks one segment, a writer waits
 * for one bucket, and a segment of depth d has one partner; so nobody waits in a circle.
 */
#include "core/esh.h"

#include "core/lock.h"

struct pair {
    struct esh_bucket PM *low, *high;
    pm_off low_offset, high_offset;
    unsigned depth; /* of both */
    uint64_t pattern; /* low's */
};

/* Whether a segment has that depth and pattern and no record. Certain only under its locks. */
static bool empty(struct store *s, struct esh_bucket PM *segment, unsigned depth, uint64_t pattern)
{
    for (unsigned b = 0; b < s->buckets; b++) {
        const uint64_t state = pm_load_relaxed(&segment[b].state);
        if (!esh_live(state) || esh_depth(state) != depth || esh_pattern(state) != pattern ||
            esh_allocated(state))
            return false;
    }
    return true;
}

static pm_off named(struct store *s, uint64_t hash)
{
    const unsigned depth = (unsigned)pm_load_acquire(&s->directory->depth);
    return pm_load_acquire(&s->directory->entries[esh_low_bits(hash, depth)]);
}

/* The segment of hash and its partner, if both look empty. */
static bool find_pair(struct store *s, uint64_t hash, struct pair *p)
{
    const pm_off offset = named(s, hash);
    struct esh_bucket PM *segment = pm_at(&s->pool->memory, offset);
    const uint64_t state = pm_load_relaxed(&segment->state);
    if (!esh_covers(state, hash) || esh_depth(state) == 0)
        return false;
    const unsigned depth = esh_depth(state);
    const uint64_t bit = UINT64_C(1) << (depth - 1), pattern = esh_pattern(state);
    if (!empty(s, segment, depth, pattern))
        return false;
    const pm_off other = named(s, pattern ^ bit);
    struct esh_bucket PM *partner = pm_at(&s->pool->memory, other);
    if (other == offset || !empty(s, partner, depth, pattern ^ bit))
        return false;
    const bool is_low = !(pattern & bit);
    *p = (struct pair){.low = is_low ? segment : partner,
                       .high = is_low ? partner : segment,
                       .low_offset = is_low ? offset : other,
                       .high_offset = is_low ? other : offset,
                       .depth = depth,
                       .pattern = pattern & ~bit};
    return true;
}

/* Steps 1 and 2. All buckets are locked. */
static void commit(struct store *s, const struct pair *p)
{
    for (unsigned b = 0; b < s->buckets; b++) {
        const uint64_t state = esh_state(b, p->depth - 1, p->pattern, 0);
        pm_store_release(&p->low[b].state, state);
        pm_flush(&p->low[b].state, sizeof p->low[b].state);
        if (b == 0)
            pm_fence();
    }
    for (unsigned b = 0; b < s->buckets; b++) {
        pm_store_release(&p->high[b].state, 0);
        pm_flush(&p->high[b].state, sizeof p->high[b].state);
    }
    pm_fence();
}

/* The directory forgets high, which becomes the first spare segment. */
static void unlink_high(struct store *s, const struct pair *p)
{
    lock_acquire(&s->directory->lock, s->pool->generation);
    esh_direct(s, p->depth, p->pattern | UINT64_C(1) << (p->depth - 1), p->low_offset);
    const uint64_t segments = pm_load_relaxed(&s->directory->segments);
    pm_store_relaxed(&s->directory->segments, segments - 1);
    const pm_off next = pm_load_relaxed(&s->directory->spare);
    pm_store_relaxed(&p->high->tags[0], next); /* a hint's place: no bucket of it is looked at */
    pm_store_relaxed(&s->directory->spare, p->high_offset);
    const uint64_t spares = pm_load_relaxed(&s->directory->spares);
    pm_store_relaxed(&s->directory->spares, spares + 1);
    lock_release(&s->directory->lock, s->pool->generation);
}

pm_off esh_take_spare(struct store *s)
{
    const pm_off unlocked = pm_load_relaxed(&s->directory->spare);
    if (!unlocked)
        return 0;
    lock_acquire(&s->directory->lock, s->pool->generation);
    const pm_off spare = pm_load_relaxed(&s->directory->spare);
    if (spare) {
        struct esh_bucket PM *segment = pm_at(&s->pool->memory, spare);
        const pm_off next = pm_load_relaxed(&segment->tags[0]);
        pm_store_relaxed(&s->directory->spare, next);
        const uint64_t spares = pm_load_relaxed(&s->directory->spares);
        pm_store_relaxed(&s->directory->spares, spares - 1);
    }
    lock_release(&s->directory->lock, s->pool->generation);
    return spare;
}

void esh_merge(struct store *s, uint64_t hash)
{
    struct pair p;
    bool merged = true;
    while (merged && find_pair(s, hash, &p)) {
        const uint64_t bit = UINT64_C(1) << (p.depth - 1);
        esh_lock_all(s, p.low);
        esh_lock_all(s, p.high);
        merged = empty(s, p.low, p.depth, p.pattern) && empty(s, p.high, p.depth, p.pattern | bit);
        if (merged) {
            commit(s, &p);
            unlink_high(s, &p);
        }
        esh_unlock_all(s, p.high);
        esh_unlock_all(s, p.low);
    }
}
