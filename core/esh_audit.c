/* esh_audit.c -- ESH, looked at from outside: iterate, stats, audit, locate.
 *
 * All but stats and locate need the table to themselves. stats and locate cause no events, so that
 * looking does not change what is measured.
 */
#include "core/esh.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/lock.h"

int esh_segments(struct store *s,
                 int (*visit)(void *arg, const struct esh_window *w, unsigned depth,
                              uint64_t pattern),
                 void *arg)
{
    const uint64_t entries = UINT64_C(1) << esh_directory_depth(s);
    int stop = 0;
    for (uint64_t i = 0; !stop && i < entries; i++) {
        struct esh_window w = {0};
        w.offset = pm_load(&s->directory->entries[i]);
        w.segment = pm_at(&s->pool->memory, w.offset);
        const uint64_t state = pm_load(&w.segment->state);
        if (esh_pattern(state) == i) /* the first of the entries that name it */
            stop = visit(arg, &w, esh_depth(state), esh_pattern(state));
    }
    return stop;
}

void esh_expected_tags(struct store *s, struct esh_bucket PM *segment, uint64_t (*tags)[2])
{
    for (unsigned b = 0; b < s->buckets; b++)
        tags[b][0] = tags[b][1] = 0;
    for (unsigned b = 0; b < s->buckets; b++) {
        const uint64_t state = pm_load(&segment[b].state);
        for (unsigned slots = esh_allocated(state); slots; slots &= slots - 1) {
            const unsigned i = (unsigned)__builtin_ctz(slots);
            const uint64_t word = pm_load(&segment[b].slots[i].key);
            const uint64_t hash = esh_slot_hash(s, word);
            const unsigned home = esh_home(s, hash);
            if (s->fingerprints)
                esh_set_fingerprint(tags[b], i, hash);
            if (home != b)
                tags[home][1] = esh_note_overflow(tags[home][1], esh_distance(s, home, b));
        }
    }
}

/* ---- iterate ---------------------------------------------------------------------------------- */

struct iteration {
    struct store *s;
    store_visit *visit;
    void *arg;
};

static int visit_blob(const struct iteration *it, pm_off offset)
{
    struct esh_blob PM *blob = pm_at(&it->s->pool->memory, offset);
    const uint64_t sizes = pm_load(&blob->sizes);
    const uint32_t key_size = esh_blob_key_size(sizes), value_size = esh_blob_value_size(sizes);
    char *copy = malloc((size_t)key_size + value_size);
    if (!copy)
        return -ENOMEM;
    pm_read(copy, blob + 1, (size_t)key_size + value_size);
    const int stop = it->visit(it->arg, (struct bytes){copy, key_size},
                               (struct bytes){copy + key_size, value_size});
    free(copy);
    return stop;
}

static int visit_segment(void *arg, const struct esh_window *w, unsigned depth, uint64_t pattern)
{
    const struct iteration *it = arg;
    int stop = 0;

    (void)depth, (void)pattern;
    for (unsigned b = 0; b < it->s->buckets; b++) {
        const uint64_t state = pm_load(&w->segment[b].state);
        for (unsigned slots = esh_allocated(state); !stop && slots; slots &= slots - 1) {
            struct esh_slot PM *slot = &w->segment[b].slots[__builtin_ctz(slots)];
            const uint64_t key = pm_load(&slot->key);
            const uint64_t value = pm_load(&slot->value);
            if (it->s->fixed)
                stop = it->visit(it->arg, (struct bytes){&key, sizeof key},
                                 (struct bytes){&value, sizeof value});
            else
                stop = visit_blob(it, value);
        }
    }
    return stop;
}

int esh_iterate(struct store *s, store_visit *visit, void *arg)
{
    struct iteration it = {s, visit, arg};
    return esh_segments(s, visit_segment, &it);
}

/* ---- stats and locate ------------------------------------------------------------------------- */

void esh_stats(const struct store *s, struct store_stats *stats)
{
    const unsigned depth = (unsigned)pm_look(&s->directory->depth);
    stats->volatile_bytes = sizeof(struct esh_directory) + (sizeof(pm_off) << depth);
    stats->segments = pm_look(&s->directory->segments);
    stats->splits = pm_look(&s->directory->splits);
    stats->slots = stats->segments * s->buckets * ESH_SLOTS;
}

static void locate_in_bucket(unsigned byte, char *text, size_t size)
{
    const size_t slots = offsetof(struct esh_bucket, slots);
    const char *field = byte < 8 ? "lock" : byte < 16 ? "state" : "hints";
    if (byte < slots)
        snprintf(text, size, "%s", field);
    else
        snprintf(text, size, "slot %zu %s", (byte - slots) / sizeof(struct esh_slot),
                 byte % sizeof(struct esh_slot) < 8 ? "key" : "value");
}

void esh_note_segment(struct store *s, pm_off segment)
{
    const uint64_t unit = segment / POOL_UNIT;
    if (!s->first_segment)
        s->first_segment = segment;
    s->segment_units[unit / 8] |= (uint8_t)(1 << unit % 8);
}

/* Segments are blocks of one class: all lie at whole multiples of their size from each other. Their
 * numbers say where in the pool they lie. */
void esh_locate(const struct store *s, pm_off offset, char *text, size_t text_size)
{
    const uint64_t unit = offset / POOL_UNIT, size = esh_segment_bytes(s);
    const bool inside = offset < s->pool->memory.size;

    if (inside && s->segment_units[unit / 8] >> unit % 8 & 1) {
        const uint64_t from_first = offset - s->first_segment % size;
        const unsigned byte = (unsigned)(from_first % size);
        const unsigned in_bucket = byte % sizeof(struct esh_bucket);
        char field[32];
        locate_in_bucket(in_bucket, field, sizeof field);
        snprintf(text, text_size, "segment %llu bucket %u byte %u (%s)",
                 (unsigned long long)(from_first / size),
                 byte / (unsigned)sizeof(struct esh_bucket), in_bucket, field);
    } else if (offset - s->header < sizeof(struct esh_header)) {
        snprintf(text, text_size, "table header byte %llu",
                 (unsigned long long)(offset - s->header));
    } else {
        snprintf(text, text_size, "pool byte %llu", (unsigned long long)offset);
    }
}

/* ---- audit ------------------------------------------------------------------------------------ */

static_assert(sizeof(struct esh_header) <= PM_LINE, "the header is one line");

struct audit {
    struct store *s;
    char *why;
    size_t why_size;
    uint64_t segments, entries, blob_bytes;
};

static int broken(struct audit *a, pm_off segment, const char *format, ...)
{
    va_list arguments;
    int n = snprintf(a->why, a->why_size, "segment at byte %llu: ", (unsigned long long)segment);
    va_start(arguments, format);
    if (n >= 0 && (size_t)n < a->why_size)
        vsnprintf(a->why + n, a->why_size - (size_t)n, format, arguments);
    va_end(arguments);
    return -EIO;
}

/* The record in slot i of bucket b is where a search finds it, and the search finds no other. */
static int audit_record(struct audit *a, const struct esh_window *segment, unsigned b, unsigned i)
{
    struct store *s = a->s;
    struct esh_slot PM *slot = &segment->segment[b].slots[i];
    const uint64_t word = pm_load(&slot->key);
    const uint64_t value = pm_load(&slot->value);
    struct esh_key key = {.hash = esh_slot_hash(s, word), .word = word};
    const uint64_t state = pm_load(&segment->segment->state);
    char *copy = NULL;

    if (!esh_covers(state, key.hash))
        return broken(a, segment->offset, "bucket %u slot %u holds another segment's record", b, i);
    if (!s->fixed) {
        struct esh_blob PM *blob = pm_at(&s->pool->memory, value);
        const uint64_t sizes = pm_load(&blob->sizes);
        key.bytes.size = esh_blob_key_size(sizes);
        if (sizes != esh_blob_sizes(key.bytes.size, esh_blob_value_size(sizes), word))
            return broken(a, segment->offset, "bucket %u slot %u: the blob's check fails", b, i);
        copy = malloc(key.bytes.size);
        if (!copy)
            return -ENOMEM;
        pm_read(copy, blob + 1, key.bytes.size);
        key.bytes.data = copy;
        a->blob_bytes += pool_rounded(sizeof *blob + key.bytes.size + esh_blob_value_size(sizes));
    }
    struct esh_window w = *segment;
    struct esh_place place;
    w.home = esh_home(s, key.hash);
    const int error = esh_find(s, &w, &key, &place);
    const uint64_t hash = s->fixed ? key.hash : esh_hash_bytes(s, key.bytes);
    free(copy);
    if (hash != key.hash)
        return broken(a, segment->offset, "bucket %u slot %u: hash is not its key's", b, i);
    if (error)
        return broken(a, segment->offset, "a search misses bucket %u slot %u", b, i);
    if (place.bucket != b || place.slot != i)
        return broken(a, segment->offset, "bucket %u slot %u holds a key twice", b, i);
    return 0;
}

static int audit_bucket(struct audit *a, const struct esh_window *w, unsigned b, uint64_t state0,
                        const uint64_t expected[2])
{
    struct esh_bucket PM *bucket = &w->segment[b];
    const uint64_t state = pm_load(&bucket->state);
    const uint64_t tag0 = pm_load(&bucket->tags[0]);
    const uint64_t tag1 = pm_load(&bucket->tags[1]);
    const uint64_t hints = UINT64_C(0xffff) << 48;
    const uint64_t lock = pm_load(&bucket->lock);

    if (esh_depth(state) != esh_depth(state0) || esh_pattern(state) != esh_pattern(state0))
        return broken(a, w->offset, "bucket %u has another depth or pattern than bucket 0", b);
    if (!esh_state_is_sound(state, b))
        return broken(a, w->offset, "bucket %u: its state fails the check", b);
    if (lock_is_held(lock, a->s->pool->generation))
        return broken(a, w->offset, "bucket %u is locked and nobody works", b);
    if ((tag1 ^ expected[1]) & hints)
        return broken(a, w->offset, "bucket %u: OFRB or OC is wrong", b);

    for (unsigned slots = esh_allocated(state); slots; slots &= slots - 1) {
        const unsigned i = (unsigned)__builtin_ctz(slots), shift = i % 8 * 8;
        const uint64_t difference = i < 8 ? tag0 ^ expected[0] : tag1 ^ expected[1];
        if (a->s->fingerprints && (difference >> shift & 255))
            return broken(a, w->offset, "bucket %u slot %u: wrong fingerprint", b, i);
        const int error = audit_record(a, w, b, i);
        if (error)
            return error;
    }
    return 0;
}

static int audit_segment(void *arg, const struct esh_window *w, unsigned depth, uint64_t pattern)
{
    struct audit *a = arg;
    struct store *s = a->s;
    uint64_t tags[ESH_BUCKETS_MAX][2];
    const uint64_t state = pm_load(&w->segment->state);

    const unsigned deepest = esh_directory_depth(s);
    if (!esh_live(state) || depth > deepest)
        return broken(a, w->offset, "depth %u is beyond the directory's %u", depth, deepest);
    for (uint64_t i = pattern; i < UINT64_C(1) << deepest; i += UINT64_C(1) << depth) {
        const pm_off named = pm_load(&s->directory->entries[i]);
        if (named != w->offset)
            return broken(a, w->offset, "directory entry %llu names another",
                          (unsigned long long)i);
        a->entries++;
    }
    a->segments++;
    esh_expected_tags(s, w->segment, tags);
    for (unsigned b = 0; b < s->buckets; b++) {
        const int error = audit_bucket(a, w, b, state, tags[b]);
        if (error)
            return error;
    }
    return 0;
}

/* What is allocated is what is reached: the header in a block of one line, segments
 * and spare ones, blobs. */
static int audit_space(struct audit *a)
{
    const uint64_t spares = pm_load(&a->s->directory->spares);
    const uint64_t reached =
        PM_LINE + (a->segments + spares) * esh_segment_bytes(a->s) + a->blob_bytes;
    uint64_t allocated = 0;
    epoch_empty(&a->s->epoch);
    (void)pool_used(a->s->pool, &allocated);
    if (allocated == reached)
        return 0;
    snprintf(a->why, a->why_size, "%llu bytes are allocated, the table reaches %llu",
             (unsigned long long)allocated, (unsigned long long)reached);
    return -EIO;
}

int esh_audit(struct store *s, char *why, size_t why_size)
{
    struct audit a = {.s = s, .why = why, .why_size = why_size};
    const int error = esh_segments(s, audit_segment, &a);
    if (error)
        return error;

    const unsigned depth = esh_directory_depth(s);
    const uint64_t segments = pm_load(&s->directory->segments);
    if (a.entries != UINT64_C(1) << depth || a.segments != segments) {
        snprintf(why, why_size, "%llu segments are counted, %llu are in the directory",
                 (unsigned long long)segments, (unsigned long long)a.segments);
        return -EIO;
    }
    return audit_space(&a);
}
