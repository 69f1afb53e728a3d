/* esh_recover.c -- ESH: making a table, and finding it again after a restart or a power cut.
 *
 * What survives is the pool's root (struct esh_header), segments and blobs. Recovery
 *
 *   1 finds every block with a segment's tag whose bucket 0 says it is live, and sorts them by depth
 *   2 drops one that a segment of smaller depth covers: of a split that did not commit, or of a merge
 *     that did
 *   3 names the others in a new directory; a gap in it means damage
 *   4 checks every segment, and marks what it reaches, blobs too
 *   5 starts the pool, and changes what has to be changed: zeroes the states of dropped segments, so
 *     that they never look live again; brings every bucket to bucket 0's depth (a split or merge
 *     that committed and was cut off) and drops what moved in it; stores hints that are wrong. The
 *     pool frees what nothing reached
 *
 * Until 5 nothing is changed, so a table that is refused stays as it was. Each change is one store
 * that could be made again, so a power cut during recovery is harmless.
 * A table that contradicts itself, or fails a check, is damaged: -EIO, and no table is opened. So
 * damage to what ESH keeps for itself is never silent; damage to keys and values can be.
 */
#include "core/esh.h"

#include <stdlib.h>
#include <string.h>

static const char root_name[POOL_NAME_MAX] = "esh";

/* ---- the handle ------------------------------------------------------------------------------- */

static bool legal_header(const struct esh_header *h)
{
    const uint64_t *p = h->parameters;
    return h->fixed <= 1 && p[ESH_BUCKETS] >= 4 && p[ESH_BUCKETS] <= ESH_BUCKETS_MAX &&
           (p[ESH_BUCKETS] & (p[ESH_BUCKETS] - 1)) == 0 && p[ESH_PROBE] >= 1 &&
           p[ESH_PROBE] <= ESH_PROBE_MAX && p[ESH_FINGERPRINTS] <= 1 && p[ESH_HASH] <= ESH_MIX &&
           p[ESH_HASH_BITS] >= 1 && p[ESH_HASH_BITS] <= 64;
}

static uint64_t directory_bytes(unsigned depth)
{
    return sizeof(struct esh_directory) + (sizeof(pm_off) << depth);
}

/* Reserves the largest directory this pool could come to need, as address space: what is never
 * touched takes no memory. At most half of the volatile region's rest, which others need too. */
static int reserve_directory(struct store *s)
{
    const uint64_t room = (s->pool->dram.size - pool_dram_used(s->pool)) / 2;
    const uint64_t segments = s->pool->memory.size / esh_segment_bytes(s);
    unsigned depth = 0;

    while (depth < ESH_DEPTH_MAX && segments >> depth)
        depth++;
    depth = depth + 10 < ESH_DEPTH_MAX ? depth + 10 : ESH_DEPTH_MAX; /* esh_split.c: the slack */
    while (depth > 0 && directory_bytes(depth) > room)
        depth--;
    const pm_off offset = pool_dram_alloc(s->pool, directory_bytes(depth));
    if (!offset)
        return -ENOMEM;
    s->directory = pm_at(&s->pool->dram, offset);
    s->depth_max = depth;
    pm_store_relaxed(&s->directory->lock, 0);
    pm_store_relaxed(&s->directory->splits, 0);
    return 0;
}

static int make_handle(struct store **out, struct pool *pool, const struct esh_header *h,
                       pm_off header)
{
    const uint64_t *p = h->parameters;
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->pool = pool;
    s->header = header;
    s->fixed = h->fixed != 0;
    s->fingerprints = p[ESH_FINGERPRINTS] != 0;
    s->buckets = (unsigned)p[ESH_BUCKETS];
    s->probe = (unsigned)(p[ESH_PROBE] < p[ESH_BUCKETS] ? p[ESH_PROBE] : p[ESH_BUCKETS]);
    s->hash = p[ESH_HASH];
    s->hash_mask = ~UINT64_C(0) >> (64 - p[ESH_HASH_BITS]);
    memcpy(s->parameters, p, sizeof s->parameters);

    s->segment_units = calloc(pool->memory.size / POOL_UNIT / 8 + 1, 1);
    int error = s->segment_units ? reserve_directory(s) : -ENOMEM;
    if (!error)
        error = epoch_init(&s->epoch, pool);
    if (error) {
        free(s->segment_units);
        free(s);
        return error;
    }
    *out = s;
    return 0;
}

void esh_close(struct store *s)
{
    epoch_empty(&s->epoch);
    free(s->segment_units);
    free(s);
}

/* ---- a new table ------------------------------------------------------------------------------ */

static int make_root(struct store *s, const struct esh_header *h)
{
    const pm_off segment = pool_alloc(s->pool, esh_segment_bytes(s), ESH_TAG_SEGMENT);
    if (!segment)
        return -ENOSPC;
    struct esh_bucket PM *bucket = pm_at(&s->pool->memory, segment);
    for (unsigned b = 0; b < s->buckets; b++) {
        pm_store(&bucket[b].lock, 0);
        pm_store(&bucket[b].tags[0], 0);
        pm_store(&bucket[b].tags[1], 0);
        const uint64_t state = esh_state(b, 0, 0, 0);
        pm_store_release(&bucket[b].state, state);
        pm_flush(&bucket[b], PM_LINE);
    }
    struct esh_header PM *root = pm_at(&s->pool->memory, s->header);
    pm_write(root, h, sizeof *h);
    pm_persist(root, sizeof *h);

    pm_store_relaxed(&s->directory->segments, 1);
    pm_store_relaxed(&s->directory->depth, 0);
    esh_note_segment(s, segment);
    esh_direct(s, 0, 0, segment);
    pool_set_root(s->pool, root_name, s->header);
    return 0;
}

int esh_create(struct store **out, struct pool *pool, const struct store_config *config)
{
    struct esh_header h = {.fixed = config->fixed};
    memcpy(h.parameters, config->parameters, sizeof h.parameters);
    if (!legal_header(&h))
        return -EINVAL;
    h.checksum = esh_header_checksum(&h);

    const pm_off header = pool_alloc(pool, sizeof h, ESH_TAG_HEADER);
    if (!header)
        return -ENOSPC;
    int error = make_handle(out, pool, &h, header);
    if (!error && (error = make_root(*out, &h)) != 0)
        esh_close(*out);
    return error;
}

/* ---- recovery --------------------------------------------------------------------------------- */

struct found_segment {
    pm_off offset;
    uint64_t pattern;
    unsigned depth;
};

struct recovery {
    struct store *s;
    struct found_segment *all; /* as they lie in the pool; sort_by_depth() keeps that order */
    uint64_t count, room;
    pm_off *dropped; /* that another covers: a split before its commit, a merge after it */
    uint64_t dropped_count;
    uint64_t of_depth[ESH_DEPTH_MAX + 1];
    struct store_recovery *report;
    unsigned deepest; /* of the segments that stay */
};

static int collect(void *arg, pm_off block, uint64_t size)
{
    struct recovery *r = arg;
    struct esh_bucket PM *bucket = pm_at(&r->s->pool->memory, block);
    const uint64_t state = pm_load(&bucket->state);
    if (!esh_live(state))
        return 0;
    if (size < esh_segment_bytes(r->s) || !esh_state_is_sound(state, 0) ||
        esh_depth(state) > ESH_DEPTH_MAX || esh_pattern(state) >> esh_depth(state))
        return -EIO;
    if (r->count == r->room) {
        const uint64_t room = r->room ? r->room * 2 : 1024;
        struct found_segment *all = realloc(r->all, room * sizeof *all);
        if (!all)
            return -ENOMEM;
        r->all = all;
        r->room = room;
    }
    r->all[r->count++] = (struct found_segment){
        .offset = block, .pattern = esh_pattern(state), .depth = esh_depth(state)};
    r->of_depth[esh_depth(state)]++;
    return 0;
}

/* Counts are known, so one pass does: segments of equal depth stay in the order of the pool, which
 * the passes to come then read nearly in sequence. */
static int sort_by_depth(struct recovery *r)
{
    struct found_segment *sorted = malloc((r->count + 1) * sizeof *sorted);
    uint64_t next[ESH_DEPTH_MAX + 1] = {0};
    if (!sorted)
        return -ENOMEM;
    for (unsigned d = 0; d < ESH_DEPTH_MAX; d++)
        next[d + 1] = next[d] + r->of_depth[d];
    for (uint64_t i = 0; i < r->count; i++)
        sorted[next[r->all[i].depth]++] = r->all[i];
    free(r->all);
    r->all = sorted;
    return 0;
}

/* Makes sure that a dropped segment is never taken for a live one. */
static void bury(struct store *s, pm_off segment)
{
    struct esh_bucket PM *bucket = pm_at(&s->pool->memory, segment);
    for (unsigned b = 0; b < s->buckets; b++) {
        pm_store_release(&bucket[b].state, 0);
        pm_flush(&bucket[b].state, sizeof bucket[b].state);
    }
    pm_fence();
}

static unsigned depth_of(struct store *s, pm_off segment)
{
    struct esh_bucket PM *bucket = pm_at(&s->pool->memory, segment);
    return esh_depth(pm_load(&bucket->state));
}

/* Names the live segments in the directory and sets the others aside. The volatile region is fresh,
 * so the directory reads as zeroes. */
static int settle(struct recovery *r)
{
    struct store *s = r->s;
    uint64_t live = 0, covered = 0; /* entries of the largest directory */
    r->dropped = malloc((r->count + 1) * sizeof *r->dropped);
    if (!r->dropped)
        return -ENOMEM;

    const unsigned depth = r->count ? r->all[r->count - 1].depth : 0;
    if (depth > s->depth_max)
        return -ENOMEM;
    pm_store_relaxed(&s->directory->depth, depth);
    for (uint64_t i = 0; i < r->count; i++) {
        const struct found_segment f = r->all[i];
        const pm_off before = pm_load_relaxed(&s->directory->entries[f.pattern]);
        if (!before) {
            esh_direct(s, f.depth, f.pattern, f.offset);
            esh_note_segment(s, f.offset);
            r->all[live++] = f;
            r->deepest = f.depth;
            covered += UINT64_C(1) << (ESH_DEPTH_MAX - f.depth);
        } else if (depth_of(s, before) == f.depth) {
            return -EIO; /* two segments claim the same records */
        } else {
            r->dropped[r->dropped_count++] = f.offset;
        }
    }
    r->count = live;
    pm_store_relaxed(&s->directory->depth, r->deepest); /* the larger one's beginning */
    pm_store_relaxed(&s->directory->segments, live);
    return covered == UINT64_C(1) << ESH_DEPTH_MAX ? 0 : -EIO; /* records are missing */
}

/* Marks a record's blob. -EIO: it is not there, or another record's. */
static int reach_blob(struct store *s, pm_off offset, uint64_t hash)
{
    if (offset % PM_LINE || offset > s->pool->memory.size - sizeof(struct esh_blob))
        return -EIO;
    const struct esh_blob PM *blob = pm_at(&s->pool->memory, offset);
    const uint64_t sizes = pm_load(&blob->sizes);
    const uint32_t key = esh_blob_key_size(sizes), value = esh_blob_value_size(sizes);
    if (sizes != esh_blob_sizes(key, value, hash) || key < 1 || key > STORE_BYTES_MAX ||
        value < 1 || value > STORE_BYTES_MAX)
        return -EIO;
    return pool_mark(s->pool, offset, sizeof *blob + key + value);
}

/* One bucket: what its words say, and what they should. */
struct sifted {
    uint64_t tags[2]; /* expected; OFRB and OC come from all buckets */
    unsigned keep;    /* slots whose records belong here */
};

/* The slots of bucket b that belong to it. stale: a split may have left others behind. change: it
 * has been looked at before. */
static int sift(struct recovery *r, const struct found_segment *f, struct esh_bucket PM *bucket,
                unsigned b, unsigned allocated, bool stale, bool change, struct sifted *all)
{
    /* This loop is all of recovery, so what it needs is copied to where no store can reach it: then
     * it stays in registers. */
    const struct store *table = r->s;
    const struct store s = {.fixed = table->fixed,
                            .buckets = table->buckets,
                            .probe = table->probe,
                            .hash = table->hash,
                            .hash_mask = table->hash_mask};
    const uint64_t pattern = f->pattern, mask = (UINT64_C(1) << f->depth) - 1;
    uint64_t tags[2] = {0};
    unsigned keep = 0;
    for (unsigned slots = allocated; slots; slots &= slots - 1) {
        const unsigned i = (unsigned)__builtin_ctz(slots);
        const uint64_t word = pm_load(&bucket->slots[i].key);
        const uint64_t hash = esh_slot_hash(&s, word);
        if ((hash & mask) != pattern) {
            if (!stale)
                return -EIO;
            continue; /* it moved in a split */
        }
        const unsigned home = esh_home(&s, hash), distance = esh_distance(&s, home, b);
        if (distance >= s.probe)
            return -EIO; /* no operation puts a record there */
        keep |= 1U << i;
        const uint64_t tag = (uint64_t)esh_fingerprint(hash) << i % 8 * 8;
        tags[0] |= i < 8 ? tag : 0;
        tags[1] |= i < 8 ? 0 : tag;
        if (distance)
            all[home].tags[1] = esh_note_overflow(all[home].tags[1], distance);
        if (s.fixed || change)
            continue;
        const pm_off blob = pm_load(&bucket->slots[i].value);
        const int error = reach_blob(r->s, blob, hash);
        if (error)
            return error;
    }
    all[b].keep = keep;
    all[b].tags[0] |= table->fingerprints ? tags[0] : 0;
    all[b].tags[1] |= table->fingerprints ? tags[1] : 0;
    return 0;
}

/* Byte i is 255 where bit i is set. */
static uint64_t spread(unsigned bits)
{
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t x = bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
    return ((((x & low7) + low7) | x) >> 7 & UINT64_C(0x0101010101010101)) * 255;
}

/* Whether a bucket's hints differ from what they should be; change: and stores them. Fingerprints of
 * free slots mean nothing. */
static bool hint(struct esh_bucket PM *bucket, const struct sifted *x, bool change)
{
    bool wrong = false;
    const uint64_t matter[2] = {spread(x->keep & 255), spread(x->keep >> 8) | UINT64_C(0xffff) << 48};
    for (unsigned half = 0; half < 2; half++) {
        const uint64_t before = pm_load(&bucket->tags[half]);
        if (!((before ^ x->tags[half]) & matter[half]))
            continue;
        wrong = true;
        if (change)
            pm_store(&bucket->tags[half], x->tags[half]);
    }
    return wrong;
}

/* A later bucket's state beside bucket 0's depth and pattern: the same, or what a split or a merge
 * that committed had not come to yet. A merge finds both segments empty. */
static bool is_of(uint64_t state, const struct found_segment *f)
{
    return esh_live(state) && esh_depth(state) == f->depth && esh_pattern(state) == f->pattern;
}
static bool left_by_split(uint64_t state, const struct found_segment *f)
{
    return esh_live(state) && esh_depth(state) + 1 == f->depth &&
           esh_pattern(state) == esh_low_bits(f->pattern, esh_depth(state));
}
static bool left_by_merge(uint64_t state, const struct found_segment *f)
{
    return esh_live(state) && esh_depth(state) == f->depth + 1 &&
           esh_pattern(state) == f->pattern && !esh_allocated(state);
}

/* Checks one segment: 0, WRONG if something has to be changed, or -EIO. change: and changes it. */
enum { WRONG = 1 };
static int check(struct recovery *r, const struct found_segment *f, bool change)
{
    bool wrong = false;
    struct store *s = r->s;
    struct esh_bucket PM *segment = pm_at(&s->pool->memory, f->offset);
    struct sifted all[ESH_BUCKETS_MAX];
    memset(all, 0, s->buckets * sizeof all[0]);

    for (unsigned b = 0; b < s->buckets; b++) {
        const uint64_t lock = pm_load(&segment[b].lock);
        const uint64_t before = pm_load(&segment[b].state);
        const bool stale = left_by_split(before, f), merged = left_by_merge(before, f);
        if (!esh_state_is_sound(before, b) || (!stale && !merged && !is_of(before, f)) ||
            lock >> 32 >= s->pool->generation) /* nobody was there yet */
            return -EIO;
        const int error = sift(r, f, &segment[b], b, esh_allocated(before), stale, change,
                               all);
        if (error)
            return error;
        wrong |= stale || merged;
        if (change && (stale || merged)) {
            const uint64_t state = esh_state(b, f->depth, f->pattern, all[b].keep);
            pm_store_release(&segment[b].state, state);
            pm_persist(&segment[b].state, sizeof segment[b].state);
        }
        r->report->records += change ? 0 : (unsigned)__builtin_popcount(all[b].keep);
    }
    for (unsigned b = 0; b < s->buckets; b++)
        wrong |= hint(&segment[b], &all[b], change);
    return wrong ? WRONG : 0;
}

/* Checks all segments; moves those that have to be changed to the front. */
static int check_all(struct recovery *r, uint64_t *wrong)
{
    struct store *s = r->s;
    int error = pool_mark(s->pool, s->header, sizeof(struct esh_header));
    for (uint64_t i = 0; error == 0 && i < r->count; i++) {
        const struct found_segment f = r->all[i];
        error = pool_mark(s->pool, f.offset, esh_segment_bytes(s));
        if (!error)
            error = check(r, &f, false);
        if (error == WRONG) {
            r->all[i] = r->all[*wrong];
            r->all[(*wrong)++] = f;
            error = 0;
        }
    }
    return error;
}

static int recover(struct recovery *r)
{
    struct store *s = r->s;
    int error = pool_blocks(s->pool, ESH_TAG_SEGMENT, collect, r);
    if (error)
        return error;
    error = sort_by_depth(r);
    if (!error)
        error = settle(r);
    if (error)
        return error;

    uint64_t wrong = 0;
    pool_mark_begin(s->pool);
    error = check_all(r, &wrong);
    if (error)
        return error;
    pool_start(s->pool);
    for (uint64_t i = 0; i < r->dropped_count; i++)
        bury(s, r->dropped[i]);
    for (uint64_t i = 0; i < wrong; i++)
        check(r, &r->all[i], true);
    r->report->discarded = r->dropped_count;
    r->report->reclaimed_bytes = pool_mark_end(s->pool);
    r->report->segments = r->count;
    return 0;
}

int esh_open(struct store **out, struct pool *pool, struct store_recovery *found)
{
    char name[POOL_NAME_MAX];
    const pm_off header = pool_root(pool, name);
    if (!header || strncmp(name, root_name, sizeof name) != 0)
        return -EINVAL;
    if (header % PM_LINE || header > pool->memory.size - sizeof(struct esh_header))
        return -EIO;

    struct esh_header h;
    const struct esh_header PM *root = pm_at(&pool->memory, header);
    pm_read(&h, root, sizeof h);
    if (h.checksum != esh_header_checksum(&h) || !legal_header(&h))
        return -EIO;

    int error = make_handle(out, pool, &h, header);
    if (error)
        return error;
    *found = (struct store_recovery){0};
    struct recovery r = {.s = *out, .report = found};
    error = recover(&r);
    free(r.all);
    free(r.dropped);
    if (error)
        esh_close(*out);
    return error;
}
