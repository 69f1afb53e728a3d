/* esh.c -- ESH's operations: find, insert, update, delete. Layout and order of durability: esh.h.
 */
#include "core/esh.h"

#include <string.h>

#include "core/hash.h"
#include "core/lock.h"

/* A try that must be made again: a neighbour's lock was taken. Not an error of the interface. */
enum { BUSY = -EBUSY };

/* ---- from key to bucket --------------------------------------------------------------------- */

uint64_t esh_hash_bytes(const struct store *s, struct bytes key)
{
    const uint64_t hash = hash_murmur_bytes(key.data, key.size);
    return (s->hash == ESH_MURMUR ? hash : hash_mix_word(hash)) & s->hash_mask;
}

/* The segment that the directory names for hash. It may have split since. The directory is one
 * extent, so its entry's address waits for nothing; the segment's waits for the entry. */
static struct esh_window look_up(struct store *s, uint64_t hash)
{
    const unsigned depth = (unsigned)pm_load_acquire(&s->directory->depth);
    const uint64_t index = esh_low_bits(hash, depth);
    struct esh_window w = {.home = esh_home(s, hash)};
    w.offset = pm_load_acquire(&s->directory->entries[index]);
    w.segment = pm_at(&s->pool->memory, w.offset);
    return w;
}

/* Locks hash's home bucket, in the segment that covers it. */
static struct esh_window lock_home(struct store *s, uint64_t hash)
{
    for (;;) {
        const struct esh_window w = look_up(s, hash);
        struct esh_bucket PM *home = &w.segment[w.home];
        lock_acquire(&home->lock, s->pool->generation);
        const uint64_t state = pm_load_relaxed(&home->state);
        if (esh_covers(state, hash))
            return w;
        lock_release(&home->lock, s->pool->generation);
    }
}

static unsigned neighbour(const struct store *s, const struct esh_window *w, unsigned distance)
{
    return (w->home + distance) & (s->buckets - 1);
}

/* ---- finding -------------------------------------------------------------------------------- */

/* Bit i: byte i of word equals byte. */
static unsigned bytes_equal(uint64_t word, uint8_t byte)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t x = word ^ byte * UINT64_C(0x0101010101010101);
    const uint64_t zero = ~(((x & low7) + low7) | x | low7); /* 0x80 where x is 0 */
    return (unsigned)((zero >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* What a reader without a lock must check before it follows an offset. NULL: the home is locked.
 * Its loads are acquires, as lock_read_end() asks. */
struct glimpse {
    const uint64_t PM *lock;
    uint64_t version;
};

/* Looks for key among `slots` of bucket b: 0, -ENOENT or -EAGAIN (only with a glimpse). */
static int find_in_slots(struct store *s, const struct esh_window *w, unsigned bucket,
                         unsigned slots, const struct esh_key *key, const struct glimpse *glimpse,
                         struct esh_place *place)
{
    struct esh_bucket PM *b = &w->segment[bucket];

    if (s->fingerprints)
        pm_use(); /* whether any fingerprint matches is the branch nobody predicts */
    for (; slots; slots &= slots - 1) {
        const unsigned i = (unsigned)__builtin_ctz(slots);
        const uint64_t word = pm_load_acquire(&b->slots[i].key);
        if (word != key->word)
            continue;
        const uint64_t value = pm_load_acquire(&b->slots[i].value);
        if (key->bytes.data) {
            /* The offset is this hash's only if nobody wrote meanwhile. */
            if (glimpse && !lock_read_end(glimpse->lock, glimpse->version))
                return -EAGAIN;
            if (!esh_blob_matches(s, value, key->bytes))
                continue;
        }
        *place = (struct esh_place){.bucket = bucket, .slot = i, .value = value};
        return 0;
    }
    if (!s->fingerprints)
        pm_use(); /* all keys were loaded at once; the miss is known when the last has come */
    return -ENOENT;
}

/* The home bucket, then the neighbours that OFRB names. state: the home's. */
static int find(struct store *s, const struct esh_window *w, uint64_t state,
                const struct esh_key *key, const struct glimpse *glimpse, struct esh_place *place)
{
    const uint8_t fingerprint = esh_fingerprint(key->hash);
    struct esh_bucket PM *home = &w->segment[w->home];
    unsigned slots = esh_allocated(state);
    const uint64_t tag1 = pm_load_acquire(&home->tags[1]);
    if (s->fingerprints) {
        const uint64_t tag0 = pm_load_acquire(&home->tags[0]);
        slots &= bytes_equal(tag0, fingerprint) | bytes_equal(tag1, fingerprint) << 8;
    }
    int error = find_in_slots(s, w, w->home, slots, key, glimpse, place);

    for (unsigned ofrb = esh_ofrb(tag1); error == -ENOENT && ofrb; ofrb &= ofrb - 1) {
        const unsigned bucket = neighbour(s, w, (unsigned)__builtin_ctz(ofrb) + 1);
        struct esh_bucket PM *b = &w->segment[bucket];
        const uint64_t there = pm_load_acquire(&b->state);
        slots = esh_allocated(there);
        if (s->fingerprints) {
            const uint64_t tags0 = pm_load_acquire(&b->tags[0]);
            const uint64_t tags1 = pm_load_acquire(&b->tags[1]);
            slots &= bytes_equal(tags0, fingerprint) | bytes_equal(tags1, fingerprint) << 8;
        }
        error = find_in_slots(s, w, bucket, slots, key, glimpse, place);
    }
    return error;
}

int esh_find(struct store *s, const struct esh_window *w, const struct esh_key *key,
             struct esh_place *place)
{
    struct esh_bucket PM *home = &w->segment[w->home];
    const uint64_t state = pm_load_relaxed(&home->state);
    return find(s, w, state, key, NULL, place);
}

int esh_peek(struct store *s, const struct esh_key *key, struct esh_place *place)
{
    const struct esh_window w = look_up(s, key->hash);
    struct esh_bucket PM *home = &w.segment[w.home];
    struct glimpse glimpse = {.lock = &home->lock};

    glimpse.version = lock_read_begin(&home->lock, s->pool->generation);
    const uint64_t state = pm_load_acquire(&home->state);
    if (!esh_covers(state, key->hash))
        return -EAGAIN;
    const int error = find(s, &w, state, key, &glimpse, place);
    return lock_read_end(glimpse.lock, glimpse.version) ? error : -EAGAIN;
}

/* ---- writing: the home bucket is locked ------------------------------------------------------ */

/* Adds a pair to a locked bucket that has room. The state's release store is the commit. */
static void add(struct store *s, const struct esh_window *w, unsigned bucket,
                const struct esh_key *key, uint64_t value)
{
    struct esh_bucket PM *b = &w->segment[bucket];
    const uint64_t state = pm_load_relaxed(&b->state);
    const unsigned slot = (unsigned)__builtin_ctz(~esh_allocated(state));
    struct esh_slot PM *pair = &b->slots[slot];

    pm_store_relaxed(&pair->key, key->word);
    pm_store_relaxed(&pair->value, value);
    if (slot >= 2) /* not in the state's line */
        pm_flush(pair, sizeof *pair);
    if (slot >= 2 || key->bytes.data) /* the blob was flushed by its writer */
        pm_fence();
    if (s->fingerprints) {
        uint64_t tags[2] = {0};
        tags[slot / 8] = pm_load_relaxed(&b->tags[slot / 8]);
        esh_set_fingerprint(tags, slot, key->hash);
        pm_store_relaxed(&b->tags[slot / 8], tags[slot / 8]);
    }
    const uint64_t with = esh_with_slots(state, bucket, esh_allocated(state) | 1U << slot);
    pm_store_release(&b->state, with);
    pm_persist(&b->state, sizeof b->state);
}

/* Room for one more record in b? */
static bool has_room(struct esh_bucket PM *b)
{
    const uint64_t state = pm_load_relaxed(&b->state);
    return esh_allocated(state) != ESH_ALL;
}

/* Puts a new pair into its home or the next neighbour with room: 0, BUSY, -ENOSPC (none has). */
static int place_pair(struct store *s, const struct esh_window *w, const struct esh_key *key,
                      uint64_t value)
{
    struct esh_bucket PM *home = &w->segment[w->home];
    int error = -ENOSPC;

    if (has_room(home)) {
        add(s, w, w->home, key, value);
        return 0;
    }
    for (unsigned d = 1; d < s->probe; d++) {
        struct esh_bucket PM *b = &w->segment[neighbour(s, w, d)];
        if (!has_room(b))
            continue;
        if (!lock_try(&b->lock, s->pool->generation)) {
            error = BUSY;
            continue;
        }
        if (has_room(b)) {
            const uint64_t tag1 = pm_load_relaxed(&home->tags[1]);
            pm_store_relaxed(&home->tags[1], esh_note_overflow(tag1, d));
            add(s, w, neighbour(s, w, d), key, value);
            error = 0;
        }
        lock_release(&b->lock, s->pool->generation);
        if (!error)
            return 0;
    }
    return error;
}

static void replace_value(const struct esh_window *w, const struct esh_place *place,
                          const struct esh_key *key, uint64_t value)
{
    struct esh_slot PM *slot = &w->segment[place->bucket].slots[place->slot];
    if (key->bytes.data)
        pm_fence(); /* the new blob before the offset that names it */
    pm_store_release(&slot->value, value);
    pm_persist(&slot->value, sizeof slot->value);
}

int esh_put(struct store *s, const struct esh_key *key, uint64_t value, enum esh_mode mode,
            uint64_t *old)
{
    *old = 0;
    for (;;) {
        const struct esh_window w = lock_home(s, key->hash);
        struct esh_place place;
        int error = esh_find(s, &w, key, &place);

        if (error == 0 && mode == ESH_INSERT) {
            error = -EEXIST;
        } else if (error == 0) {
            replace_value(&w, &place, key, value);
            *old = place.value;
        } else if (mode != ESH_UPDATE) {
            error = place_pair(s, &w, key, value);
        }
        lock_release(&w.segment[w.home].lock, s->pool->generation);

        if (error == -ENOSPC)
            error = esh_split(s, &w, key->hash);
        else if (error == BUSY)
            pm_pause();
        else
            return error;
        if (error && error != BUSY)
            return error;
    }
}

/* ---- deleting -------------------------------------------------------------------------------- */

/* Does a locked bucket hold records of that home, in these slots? */
static bool holds_records_of(struct store *s, struct esh_bucket PM *b, unsigned slots,
                             unsigned home)
{
    for (; slots; slots &= slots - 1) {
        const uint64_t word = pm_load_relaxed(&b->slots[__builtin_ctz(slots)].key);
        if (esh_home(s, esh_slot_hash(s, word)) == home)
            return true;
    }
    return false;
}

/* Takes a slot out of a locked bucket; lowers the home's hints when it held an away record. True if
 * no record is left in the bucket. */
static bool take_out(struct store *s, const struct esh_window *w, const struct esh_place *place)
{
    struct esh_bucket PM *b = &w->segment[place->bucket];
    const unsigned bit = 1U << place->slot;
    uint64_t state = pm_load_relaxed(&b->state);

    state = esh_with_slots(state, place->bucket, esh_allocated(state) & ~bit);
    pm_store_release(&b->state, state);
    pm_persist(&b->state, sizeof b->state);

    if (place->bucket != w->home) {
        struct esh_bucket PM *home = &w->segment[w->home];
        const unsigned distance = esh_distance(s, w->home, place->bucket);
        const bool gone = !holds_records_of(s, b, esh_allocated(state), w->home);
        const uint64_t tag1 = pm_load_relaxed(&home->tags[1]);
        pm_store_relaxed(&home->tags[1], esh_forget_overflow(tag1, distance, gone));
    }
    return !esh_allocated(state);
}

int esh_drop(struct store *s, const struct esh_key *key, uint64_t *old)
{
    for (;;) {
        const struct esh_window w = lock_home(s, key->hash);
        struct esh_bucket PM *home = &w.segment[w.home];
        struct esh_place place;
        bool emptied = false;
        int error = esh_find(s, &w, key, &place);

        if (error == 0) {
            struct esh_bucket PM *b = &w.segment[place.bucket];
            const bool second = place.bucket != w.home;
            if (second && !lock_try(&b->lock, s->pool->generation)) {
                error = BUSY;
            } else {
                emptied = take_out(s, &w, &place);
                if (second)
                    lock_release(&b->lock, s->pool->generation);
                *old = place.value;
            }
        }
        lock_release(&home->lock, s->pool->generation);
        if (emptied)
            esh_merge(s, key->hash);
        if (error != BUSY)
            return error;
        pm_pause();
    }
}

/* ---- fixed records --------------------------------------------------------------------------- */

static struct esh_key fixed_key(const struct store *s, uint64_t key)
{
    return (struct esh_key){.hash = esh_hash_word(s, key), .word = key};
}

static int esh_get(struct store *s, uint64_t key, uint64_t *value)
{
    const struct esh_key k = fixed_key(s, key);
    struct esh_place place;
    int error;

    do
        error = esh_peek(s, &k, &place);
    while (error == -EAGAIN);
    if (!error)
        *value = place.value;
    return error;
}

static int esh_insert(struct store *s, uint64_t key, uint64_t value)
{
    const struct esh_key k = fixed_key(s, key);
    uint64_t old;
    return esh_put(s, &k, value, ESH_INSERT, &old);
}

static int esh_update(struct store *s, uint64_t key, uint64_t value)
{
    const struct esh_key k = fixed_key(s, key);
    uint64_t old;
    return esh_put(s, &k, value, ESH_UPDATE, &old);
}

static int esh_upsert(struct store *s, uint64_t key, uint64_t value)
{
    const struct esh_key k = fixed_key(s, key);
    uint64_t old;
    return esh_put(s, &k, value, ESH_UPSERT, &old);
}

static int esh_remove(struct store *s, uint64_t key)
{
    const struct esh_key k = fixed_key(s, key);
    uint64_t old;
    return esh_drop(s, &k, &old);
}

/* ---- the table of operations ------------------------------------------------------------------ */

/* Worst moment: just after all segments split, a segment is half full: 7 records per bucket; with
 * few probes it splits earlier, so a quarter full is taken. Blobs take at most twice their size
 * (block classes). */
static uint64_t esh_pool_bytes(const struct store_config *config, uint64_t records,
                               uint32_t key_size, uint32_t value_size)
{
    const uint64_t buckets = records / (ESH_SLOTS / 4) + ESH_BUCKETS_MAX;
    uint64_t bytes = (UINT64_C(4) << 20) + buckets * sizeof(struct esh_bucket);
    if (!config->fixed)
        bytes += records * 2 * (sizeof(struct esh_blob) + key_size + value_size + PM_LINE);
    return bytes + bytes / 64;
}

static const char *const hash_names[] = {[ESH_MURMUR] = "murmur", [ESH_MIX] = "mix", NULL};
static const char *const off_on[] = {"off", "on", NULL};

static const struct store_parameter parameters[] = {
    [ESH_BUCKETS] = {"buckets", "buckets of 256 B per segment, a power of two", 4, 4,
                     ESH_BUCKETS_MAX, NULL, true},
    [ESH_PROBE] = {"probe", "buckets that a key may use, its home included", 4, 1, ESH_PROBE_MAX,
                   NULL, false},
    [ESH_FINGERPRINTS] = {"fingerprints", "one hash byte per slot, read before the keys", 1, 0, 1,
                          off_on, false},
    [ESH_HASH] = {"hash", "hash function", ESH_MURMUR, 0, 1, hash_names, false},
    [ESH_HASH_BITS] = {"hash_bits", "bits of the hash that count; fewer make equal hashes", 64, 1,
                       64, NULL, false},
    [ESH_PARAMETERS] = {NULL, NULL, 0, 0, 0, NULL, false},
};

const struct store_ops PM_NAME(esh) = {
    .name = "esh",
    .summary = "ESH: 1 KB segments, overflow into neighbours, volatile directory",
    .parameters = parameters,
    .fixed = true,
    .variable = true,
    .pool_bytes = esh_pool_bytes,
    .create = esh_create,
    .open = esh_open,
    .close = esh_close,
    .insert = esh_insert,
    .get = esh_get,
    .update = esh_update,
    .upsert = esh_upsert,
    .remove = esh_remove,
    .insert_bytes = esh_insert_bytes,
    .get_bytes = esh_get_bytes,
    .update_bytes = esh_update_bytes,
    .upsert_bytes = esh_upsert_bytes,
    .remove_bytes = esh_remove_bytes,
    .iterate = esh_iterate,
    .scan = NULL,
    .stats = esh_stats,
    .audit = esh_audit,
    .locate = esh_locate,
};
