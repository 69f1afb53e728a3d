/* esh_split.c -- a segment without room becomes two. Order of durability: esh.h.
 *
 *   old, depth d, pattern p          old, depth d+1, pattern 0p     records with bit d clear, in place
 *                              -->   new, depth d+1, pattern 1p     records with bit d set, copied
 *
 * In the new segment a record goes home when there is a free slot that no other copy is entitled
 * to; else it keeps its old bucket and slot. So the copy always fits, and overflow heals. In the
 * old segment nothing moves: a move would need a second commit.
 *
 * A spare segment that a merge left over (esh_merge.c) is taken before the pool is asked.
 *
 * Endless splitting. A split helps a new key only if some record in its reach differs from it in a
 * hash bit that the directory may still come to use. That bound is max(16, log2(segments) + 10):
 * random hashes stay some ten bits below it, and equal or chosen ones cannot blow up the directory.
 * Otherwise -EOVERFLOW, and nothing has been grown.
 */
#include "core/esh.h"

#include "core/lock.h"

enum { DEPTH_FLOOR = 16, DEPTH_SLACK = 10 };

/* One split's book-keeping, on the stack: 2.5 KiB for the largest segment. */
struct split {
    struct esh_bucket PM *from, *to;
    unsigned depth; /* before the split */
    uint64_t pattern;
    unsigned moved[ESH_BUCKETS_MAX]; /* slots of each old bucket that leave it */
    unsigned taken[ESH_BUCKETS_MAX]; /* slots of each new bucket that are filled */
    uint64_t hints[ESH_BUCKETS_MAX]; /* tags[1] of the old buckets: OFRB and OC only */
    uint64_t tags[ESH_BUCKETS_MAX][2]; /* of the new buckets */
};

/* ---- whether ---------------------------------------------------------------------------------- */

void esh_lock_all(struct store *s, struct esh_bucket PM *segment)
{
    for (unsigned b = 0; b < s->buckets; b++)
        lock_acquire(&segment[b].lock, s->pool->generation);
}

void esh_unlock_all(struct store *s, struct esh_bucket PM *segment)
{
    for (unsigned b = 0; b < s->buckets; b++)
        lock_release(&segment[b].lock, s->pool->generation);
}

static bool window_full(struct store *s, const struct esh_window *w)
{
    for (unsigned d = 0; d < s->probe; d++) {
        const uint64_t state = pm_load_relaxed(&w->segment[(w->home + d) & (s->buckets - 1)].state);
        if (esh_allocated(state) != ESH_ALL)
            return false;
    }
    return true;
}

/* The bits in which some record of the full window differs from hash. */
static uint64_t window_differs(struct store *s, const struct esh_window *w, uint64_t hash)
{
    uint64_t differs = 0;
    for (unsigned d = 0; d < s->probe; d++)
        for (unsigned i = 0; i < ESH_SLOTS; i++) {
            struct esh_bucket PM *b = &w->segment[(w->home + d) & (s->buckets - 1)];
            const uint64_t word = pm_load_relaxed(&b->slots[i].key);
            differs |= esh_slot_hash(s, word) ^ hash;
        }
    return differs;
}

static unsigned log2_up(uint64_t n)
{
    return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

/* Depth that no segment may pass now. */
static unsigned depth_limit(struct store *s)
{
    lock_acquire(&s->directory->lock, s->pool->generation);
    const uint64_t segments = pm_load_relaxed(&s->directory->segments);
    lock_release(&s->directory->lock, s->pool->generation);
    const unsigned slack = log2_up(segments) + DEPTH_SLACK;
    const unsigned limit = slack > DEPTH_FLOOR ? slack : DEPTH_FLOOR;
    return limit < ESH_DEPTH_MAX ? limit : ESH_DEPTH_MAX;
}

/* ---- the copy --------------------------------------------------------------------------------- */

/* Finds out what moves, and what hints the old segment needs once it is gone. */
static void plan(struct store *s, struct split *x)
{
    for (unsigned b = 0; b < s->buckets; b++) {
        const uint64_t state = pm_load_relaxed(&x->from[b].state);
        for (unsigned slots = esh_allocated(state); slots; slots &= slots - 1) {
            const unsigned i = (unsigned)__builtin_ctz(slots);
            const uint64_t word = pm_load_relaxed(&x->from[b].slots[i].key);
            const uint64_t hash = esh_slot_hash(s, word);
            const unsigned home = esh_home(s, hash);
            if (hash >> x->depth & 1)
                x->moved[b] |= 1U << i;
            else if (home != b)
                x->hints[home] = esh_note_overflow(x->hints[home], esh_distance(s, home, b));
        }
    }
}

static void copy_record(struct store *s, struct split *x, unsigned from_bucket, unsigned from_slot)
{
    struct esh_slot PM *from = &x->from[from_bucket].slots[from_slot];
    const uint64_t word = pm_load_relaxed(&from->key);
    const uint64_t value = pm_load_relaxed(&from->value);
    const uint64_t hash = esh_slot_hash(s, word);
    const unsigned home = esh_home(s, hash);
    unsigned bucket = from_bucket, slot = from_slot;

    const unsigned free_at_home =
        ESH_ALL & ~(x->moved[home] | x->taken[home]);
    if (home != bucket && free_at_home) {
        bucket = home;
        slot = (unsigned)__builtin_ctz(free_at_home);
    }
    struct esh_slot PM *to = &x->to[bucket].slots[slot];
    pm_store_relaxed(&to->key, word);
    pm_store_relaxed(&to->value, value);

    x->taken[bucket] |= 1U << slot;
    if (s->fingerprints)
        esh_set_fingerprint(x->tags[bucket], slot, hash);
    if (home != bucket)
        x->tags[home][1] = esh_note_overflow(x->tags[home][1], esh_distance(s, home, bucket));
}

/* Fills the new segment and makes it durable. The old one still covers it. */
static void copy(struct store *s, struct split *x)
{
    const uint64_t pattern = x->pattern | UINT64_C(1) << x->depth;
    for (unsigned b = 0; b < s->buckets; b++)
        for (unsigned slots = x->moved[b]; slots; slots &= slots - 1)
            copy_record(s, x, b, (unsigned)__builtin_ctz(slots));
    for (unsigned b = 0; b < s->buckets; b++) {
        pm_store_relaxed(&x->to[b].tags[0], x->tags[b][0]);
        pm_store_relaxed(&x->to[b].tags[1], x->tags[b][1]);
        const uint64_t state = esh_state(b, x->depth + 1, pattern, x->taken[b]);
        pm_store_release(&x->to[b].state, state);
    }
    pm_flush(x->to, esh_segment_bytes(s));
    pm_fence();
}

/* ---- the commit ------------------------------------------------------------------------------- */

/* Raises one old bucket's depth and drops the slots that moved, in one store. */
static void shed(struct split *x, unsigned b)
{
    const uint64_t before = pm_load_relaxed(&x->from[b].state);
    const unsigned stay = esh_allocated(before) & ~x->moved[b];
    const uint64_t state = esh_state(b, x->depth + 1, x->pattern, stay);
    const uint64_t tag1 = pm_load_relaxed(&x->from[b].tags[1]);

    pm_store_relaxed(&x->from[b].tags[1], (tag1 & 0xffffffffffff) | x->hints[b]);
    pm_store_release(&x->from[b].state, state);
    pm_flush(&x->from[b].state, sizeof x->from[b].state);
}

static void commit(struct store *s, struct split *x)
{
    shed(x, 0); /* this one decides; recovery cleans the others if they do not follow */
    pm_fence();
    for (unsigned b = 1; b < s->buckets; b++)
        shed(x, b);
    pm_fence();
}

/* ---- the directory ---------------------------------------------------------------------------- */

unsigned esh_directory_depth(const struct store *s)
{
    return (unsigned)pm_load_relaxed(&s->directory->depth);
}

void esh_direct(struct store *s, unsigned depth, uint64_t pattern, pm_off segment)
{
    const uint64_t entries = UINT64_C(1) << esh_directory_depth(s);
    for (uint64_t i = pattern; i < entries; i += UINT64_C(1) << depth)
        pm_store_release(&s->directory->entries[i], segment);
}

/* The upper half becomes a copy of the lower; the depth shows it to readers. */
static void double_directory(struct store *s, unsigned depth)
{
    const uint64_t half = UINT64_C(1) << depth;
    for (uint64_t i = 0; i < half; i++) {
        const pm_off segment = pm_load_relaxed(&s->directory->entries[i]);
        pm_store_relaxed(&s->directory->entries[half + i], segment);
    }
    pm_store_release(&s->directory->depth, depth + 1);
}

static void publish(struct store *s, const struct split *x, pm_off segment)
{
    lock_acquire(&s->directory->lock, s->pool->generation);
    const unsigned depth = esh_directory_depth(s);
    if (x->depth == depth)
        double_directory(s, depth);
    esh_direct(s, x->depth + 1, x->pattern | UINT64_C(1) << x->depth, segment);
    esh_note_segment(s, segment);
    const uint64_t segments = pm_load_relaxed(&s->directory->segments);
    pm_store_relaxed(&s->directory->segments, segments + 1);
    const uint64_t splits = pm_load_relaxed(&s->directory->splits);
    pm_store_relaxed(&s->directory->splits, splits + 1);
    lock_release(&s->directory->lock, s->pool->generation);
}

/* The lock words of a block that nobody has seen. */
static void free_locks(struct store *s, struct esh_bucket PM *segment)
{
    for (unsigned b = 0; b < s->buckets; b++)
        pm_store_relaxed(&segment[b].lock, 0);
}

/* All buckets are locked and none in reach of hash has room. */
static int split_locked(struct store *s, const struct esh_window *w, unsigned depth, uint64_t hash)
{
    const unsigned limit = depth_limit(s);
    const uint64_t differs = window_differs(s, w, hash);
    if (depth >= limit || !(esh_low_bits(differs, limit) >> depth))
        return -EOVERFLOW;
    if (depth >= s->depth_max)
        return -ENOSPC; /* the volatile region has no room for a larger directory */

    const pm_off spare = esh_take_spare(s);
    const pm_off fresh =
        spare ? spare : pool_alloc(s->pool, esh_segment_bytes(s), ESH_TAG_SEGMENT);
    if (!fresh)
        return -ENOSPC;
    struct split x = {
        .from = w->segment, .depth = depth, .pattern = esh_low_bits(hash, depth)};
    x.to = pm_at(&s->pool->memory, fresh);
    if (spare)
        esh_lock_all(s, x.to); /* who still comes to its former life must not get between */
    else
        free_locks(s, x.to);
    plan(s, &x);
    copy(s, &x);
    commit(s, &x);
    publish(s, &x, fresh);
    if (spare)
        esh_unlock_all(s, x.to);
    return 0;
}

int esh_split(struct store *s, const struct esh_window *w, uint64_t hash)
{
    int error = 0;

    esh_lock_all(s, w->segment);
    const uint64_t state = pm_load_relaxed(&w->segment->state);
    if (esh_covers(state, hash) && window_full(s, w))
        error = split_locked(s, w, esh_depth(state), hash);
    esh_unlock_all(s, w->segment);
    return error;
}
