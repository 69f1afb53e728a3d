/* hostile_pools.c -- see hostile_pools.h. */
#include "tests/hostile_pools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/esh.h"

extern const struct store_ops esh_native;
static const struct store_ops *const ops = &esh_native;

enum { GUARD = 4096 };

static void must(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "hostile pools: %s\n", what);
    abort();
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct pm_region guarded(uint64_t size, enum pm_kind kind)
{
    char *base = mmap(NULL, size + 2 * GUARD, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(base != MAP_FAILED, "no memory");
    must(mprotect(base + GUARD, size, PROT_READ | PROT_WRITE) == 0, "no memory");
    return (struct pm_region){.base = base + GUARD, .size = size, .kind = kind};
}

struct hostile_bed hostile_bed_open(uint64_t pool_bytes)
{
    return (struct hostile_bed){.memory = guarded(pool_bytes, PM_PERSISTENT),
                                .dram = guarded(HOSTILE_DRAM, PM_VOLATILE)};
}

void hostile_bed_close(struct hostile_bed *bed)
{
    munmap(bed->memory.base - GUARD, bed->memory.size + 2 * GUARD);
    munmap(bed->dram.base - GUARD, bed->dram.size + 2 * GUARD);
}

void hostile_restart(const struct hostile_bed *bed)
{
    must(madvise(bed->dram.base, bed->dram.size, MADV_DONTNEED) == 0, "madvise");
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t fixed_key(uint32_t id)
{
    return id * UINT64_C(0x100000001);
}

static uint64_t fixed_value(uint32_t id, uint8_t version)
{
    return (uint64_t)version << 40 | id;
}

struct bytes hostile_key(bool fixed, uint32_t id, char *buffer)
{
    const uint64_t word = fixed_key(id);
    const uint32_t size = fixed ? 8 : 4 + id % 23;
    memcpy(buffer, &word, fixed ? 8 : 4);
    for (uint32_t i = 4; !fixed && i < size; i++)
        buffer[i] = (char)(id * 13 + i);
    return (struct bytes){buffer, size};
}

static uint32_t value_size(uint32_t id, uint8_t version)
{
    const uint32_t some = 5 + (id * 37 + version * 13u) % 300;
    if (id % 64 == 0) /* every other with its key in two units */
        return id % 128 ? (uint32_t)STORE_BYTES_MAX - version : HOSTILE_BIG + some;
    return id % 16 == 1 ? 2000 + some : some;
}

struct bytes hostile_value(bool fixed, uint32_t id, uint8_t version, char *buffer)
{
    const uint64_t word = fixed_value(id, version);
    if (fixed) {
        memcpy(buffer, &word, 8);
        return (struct bytes){buffer, 8};
    }
    const uint32_t size = value_size(id, version);
    memcpy(buffer, &id, 4);
    buffer[4] = (char)version;
    memset(buffer + 5, (int)(id * 31 + version), size - 5);
    for (uint32_t i = PM_LINE; i < size; i += PM_LINE)
        buffer[i] = (char)(i / PM_LINE); /* no line is another */
    return (struct bytes){buffer, size};
}

uint32_t hostile_id(bool fixed, struct bytes key, struct bytes value, uint8_t *version)
{
    static char buffer[HOSTILE_MAX];
    uint32_t id;
    if (key.size < 4 || value.size < 5)
        return 0;
    memcpy(&id, key.data, 4);
    if (!id || id >= HOSTILE_IDS)
        return 0;
    const struct bytes k = hostile_key(fixed, id, buffer);
    if (k.size != key.size || memcmp(k.data, key.data, k.size) != 0)
        return 0;
    *version = fixed ? ((const uint8_t *)value.data)[5] : ((const uint8_t *)value.data)[4];
    const struct bytes v = hostile_value(fixed, id, *version, buffer);
    return v.size == value.size && memcmp(v.data, value.data, v.size) == 0 ? id : 0;
}

int hostile_put(struct store *s, bool fixed, enum hostile_put how, uint32_t id, uint8_t version)
{
    static char k[HOSTILE_MAX], v[HOSTILE_MAX];
    if (fixed) {
        int (*const put)(struct store *, uint64_t, uint64_t) =
            how == HOSTILE_INSERT ? ops->insert : how == HOSTILE_UPDATE ? ops->update : ops->upsert;
        return put(s, fixed_key(id), fixed_value(id, version));
    }
    int (*const put)(struct store *, struct bytes, struct bytes) =
        how == HOSTILE_INSERT   ? ops->insert_bytes
        : how == HOSTILE_UPDATE ? ops->update_bytes
                                : ops->upsert_bytes;
    return put(s, hostile_key(fixed, id, k), hostile_value(fixed, id, version, v));
}

int hostile_get(struct store *s, bool fixed, uint32_t id, uint8_t version)
{
    static char k[HOSTILE_MAX], v[HOSTILE_MAX], got[HOSTILE_MAX];
    if (fixed) {
        uint64_t value = 0;
        const int error = ops->get(s, fixed_key(id), &value);
        return error ? error : value == fixed_value(id, version) ? 0 : -EBADMSG;
    }
    uint32_t size = 0;
    const struct bytes key = hostile_key(fixed, id, k);
    const int error = ops->get_bytes(s, key, got, sizeof got, &size);
    if (error)
        return error;
    const struct bytes value = hostile_value(fixed, id, version, v);
    return value.size == size && memcmp(value.data, got, size) == 0 ? 0 : -EBADMSG;
}

int hostile_remove(struct store *s, bool fixed, uint32_t id)
{
    char k[64];
    return fixed ? ops->remove(s, fixed_key(id)) : ops->remove_bytes(s, hostile_key(false, id, k));
}

/* ---- the pools ------------------------------------------------------------------------------- */

/* A pool while it is made. */
struct making {
    struct hostile_pool *p;
    struct hostile_bed bed;
    struct pool pool;
    struct store *s;
    uint32_t next; /* id */
};

static int insert_next(struct making *m)
{
    const int error = hostile_put(m->s, m->p->fixed, HOSTILE_INSERT, m->next, 1);
    if (!error)
        m->p->version[m->next++] = 1;
    return error;
}

/* Updates each fifth record and deletes each seventh. */
static void churn(struct making *m)
{
    for (uint32_t id = 5; id < m->next; id += 5) {
        must(hostile_put(m->s, m->p->fixed, HOSTILE_UPDATE, id, 2) == 0, "no update");
        m->p->version[id] = 2;
    }
    for (uint32_t id = 7; id < m->next; id += 7) {
        must(hostile_remove(m->s, m->p->fixed, id) == 0, "no delete");
        m->p->version[id] = 0;
    }
}

static struct esh_bucket *segment_at(const struct making *m, pm_off offset)
{
    return (struct esh_bucket *)(m->bed.memory.base + offset);
}

static void note_segments(struct making *m)
{
    const unsigned depth = esh_directory_depth(m->s);
    m->p->segments = calloc((UINT64_C(1) << depth) + 1, sizeof m->p->segments[0]);
    must(m->p->segments, "no memory");
    for (uint64_t i = 0; i < UINT64_C(1) << depth; i++) {
        const pm_off offset = pm_look(&m->s->directory->entries[i]);
        if (esh_pattern(segment_at(m, offset)->state) == i)
            m->p->segments[m->p->segment_count++] = offset;
    }
}

/* A copy of the first segment that claims one bit more: what a split leaves before its commit. */
static void tear(struct making *m)
{
    struct hostile_pool *p = m->p;
    const struct esh_bucket *old = segment_at(m, p->segments[0]);
    const unsigned depth = esh_depth(old->state);
    const pm_off offset = pool_alloc(&m->pool, p->buckets * sizeof *old, ESH_TAG_SEGMENT);
    must(offset, "no room for a segment");
    struct esh_bucket *fresh = segment_at(m, offset);
    memcpy(fresh, old, p->buckets * sizeof *old);
    for (unsigned b = 0; b < p->buckets; b++)
        fresh[b].state = esh_state(b, depth + 1, esh_pattern(old->state) | UINT64_C(1) << depth,
                                   esh_allocated(old[b].state));
    p->segments[p->segment_count++] = offset;
}

/* Inserts until a segment splits, and undoes what follows the split's commit. */
static void cut(struct making *m)
{
    char *before = malloc(m->p->size);
    const uint64_t splits = pm_look(&m->s->directory->splits);
    must(before, "no memory");
    while (pm_look(&m->s->directory->splits) == splits) {
        memcpy(before, m->bed.memory.base, m->p->size);
        must(insert_next(m) == 0, "no insert");
    }
    note_segments(m);
    for (unsigned i = 0; i < m->p->segment_count; i++) {
        const struct esh_bucket *old = (struct esh_bucket *)(before + m->p->segments[i]);
        struct esh_bucket *now = segment_at(m, m->p->segments[i]);
        if (esh_live(old->state) && esh_depth(old->state) < esh_depth(now->state))
            for (unsigned b = 1; b < m->p->buckets; b++)
                now[b].state = old[b].state; /* all slots: so is the record that came after */
    }
    free(before);
}

static void fill(struct making *m, uint32_t records)
{
    enum { GONE = 20 };
    if (m->p->kind == HOSTILE_FULL) {
        while (insert_next(m) == 0)
            must(m->next < HOSTILE_FRESH_ID, "too many records");
        for (uint32_t id = 1; id <= GONE; id++) {
            must(hostile_remove(m->s, m->p->fixed, id) == 0, "no delete");
            m->p->version[id] = 0;
        }
    } else if (m->p->kind != HOSTILE_EMPTY) {
        while (m->next <= records)
            must(insert_next(m) == 0, "no insert");
        churn(m);
    }
    if (m->p->kind == HOSTILE_CUT)
        cut(m);
    else
        note_segments(m);
    if (m->p->kind == HOSTILE_TORN)
        tear(m);
}

struct hostile_pool hostile_make(enum hostile_kind kind, uint32_t records)
{
    struct hostile_pool p = {.kind = kind,
                             .fixed = kind != HOSTILE_VARIABLE && kind != HOSTILE_FULL,
                             .size = UINT64_C(1) << 20};
    if (kind == HOSTILE_VARIABLE && records > 250)
        p.size *= 4;
    struct making m = {.p = &p, .bed = hostile_bed_open(p.size), .next = 1};
    struct store_config config = {.fixed = p.fixed};
    char why[POOL_WHY_MAX];

    for (int i = 0; i < ESH_PARAMETERS; i++)
        config.parameters[i] = ops->parameters[i].value;
    if (kind == HOSTILE_LARGE) {
        config.parameters[ESH_BUCKETS] = 16;
        config.parameters[ESH_PROBE] = 8;
        config.parameters[ESH_FINGERPRINTS] = 0;
    }
    p.buckets = (unsigned)config.parameters[ESH_BUCKETS];
    p.image = malloc(p.size);
    p.version = calloc(HOSTILE_IDS, 1);
    must(p.image && p.version, "no memory");
    must(pool_create(&m.pool, &m.bed.memory, &m.bed.dram, why) == 0, "no pool");
    must(ops->create(&m.s, &m.pool, &config) == 0, "no store");
    fill(&m, records);
    p.header = m.s->header;
    ops->close(m.s);
    pool_close(&m.pool);
    memcpy(p.image, m.bed.memory.base, p.size);
    hostile_bed_close(&m.bed);
    for (uint32_t id = 0; id < HOSTILE_IDS; id++)
        p.records += p.version[id] != 0;
    return p;
}

void hostile_free(struct hostile_pool *p)
{
    free(p->image);
    free(p->version);
    free(p->segments);
    *p = (struct hostile_pool){0};
}
