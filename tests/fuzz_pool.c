/* fuzz_pool.c -- what libFuzzer does with a pool: edits to a real one, then operations.
 *
 *   input   kind 1 | n 1 | n edits of 13 | operations of 2, until the end
 *   edit    area 1 | where 2 | word 1 | how 1 | value 8
 *           how: bits 0..2 what is done, bit 3 sealed: checks are made to fit again, so that the
 *           code behind them is reached
 *   kind    modulo 8: enum hostile_kind, or 7: raw. Then the input itself is the pool: its bytes
 *           are laid over zeroes, if n is odd with superblock and descriptors sealed.
 *
 * What must hold: no access outside of the two regions, no leak, no undefined behaviour; iteration
 * finds as many records as recovery reported; a record that get does not find, the audit does not
 * pass; a table that passed goes on to pass, and its operations answer as promised; opening it
 * again finds the same. A pool that nobody edited opens.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/esh.h"
#include "core/pool_block.h"
#include "tests/hostile_pools.h"

extern const struct store_ops esh_native;
static const struct store_ops *const ops = &esh_native;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    RAW = HOSTILE_KINDS,
    RECORDS = 120, /* inserted into most pools */
    BURST = 32,
    BURST_ID = HOSTILE_FRESH_ID + 256,
    VERSION = 3, /* of what is written here */
    DESCRIPTORS = 4096,
    RAW_BYTES = 1 << 20,
};
static_assert(RAW == 7, "a kind is a number modulo 8");

static struct hostile_pool pools[HOSTILE_KINDS];
static struct hostile_bed bed; /* all these pools have the same size */

/* One input. */
static struct run {
    const uint8_t *data;
    size_t size;
    const struct hostile_pool *p; /* NULL: raw */
    struct pool pool;
    struct store *s;
    struct store_recovery found;
    uint64_t records, missing;
    uint32_t burst;
    bool edited, clean, touched; /* clean: passed the audit; touched: written to since */
} run;

static void must(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz_pool: %s\n", what);
    abort();
}

/* The next n bytes as a number; what is missing reads as zeroes. */
static uint64_t take(size_t n)
{
    uint64_t value = 0;
    const size_t have = n < run.size ? n : run.size;
    memcpy(&value, run.data, have);
    run.data += have;
    run.size -= have;
    return value;
}

/* ---- edits ----------------------------------------------------------------------------------- */

enum area { SUPERBLOCK, DESCRIPTOR, HEADER, BUCKET, SLOT, BLOB, ANYWHERE, COPY };

static uint64_t *word_at(uint64_t offset)
{
    return (uint64_t *)(bed.memory.base + offset);
}

static bool is_word(uint64_t offset)
{
    return offset % 8 == 0 && offset <= bed.memory.size - 8;
}

static pm_off bucket_offset(uint64_t where)
{
    const struct hostile_pool *p = run.p;
    const uint64_t bucket = where / p->segment_count % p->buckets;
    return p->segments[where % p->segment_count] + bucket * sizeof(struct esh_bucket);
}

static uint64_t unit_count(void)
{
    return bed.memory.size / POOL_UNIT - 1;
}

/* The offset of the word that an edit means. */
static uint64_t place_of(enum area area, uint64_t where, uint64_t word)
{
    uint64_t blob;
    switch (area) {
    case SUPERBLOCK: return word % 24 * 8;
    case DESCRIPTOR: return DESCRIPTORS + where % unit_count() * 8;
    case HEADER: return run.p->header + word % 8 * 8;
    case BUCKET: return bucket_offset(where) + word % 4 * 8;
    case SLOT: return bucket_offset(where) + (4 + word % 28) * 8;
    case BLOB:
        blob = *word_at(bucket_offset(where) + (5 + word % ESH_SLOTS * 2) * 8);
        return is_word(blob) ? blob : 0;
    default: return (where << 4 | word % 16) * 8 % bed.memory.size;
    }
}

static void seal_superblock(void)
{
    enum { FIRST = 1, COUNT = 5, CHECKSUM = 6 };
    *word_at(CHECKSUM * 8) = hash_murmur_bytes(word_at(FIRST * 8), COUNT * 8);
}

static void seal_descriptor(uint64_t unit)
{
    uint64_t *d = word_at(DESCRIPTORS + unit * 8);
    const uint64_t word = *d & ~UINT64_C(0xffff0000);
    if (word)
        *d = word | hash_check(word, unit, 16) << 16;
}

static void seal_state(uint64_t where)
{
    struct esh_bucket *b = (struct esh_bucket *)word_at(bucket_offset(where));
    const unsigned bucket = (unsigned)(where / run.p->segment_count % run.p->buckets);
    const uint64_t word = b->state & ~((uint64_t)ESH_ALL << ESH_SLOTS);
    b->state = word | hash_check(word, bucket, ESH_SLOTS) << ESH_SLOTS;
}

/* The blob of a slot, if it lies in the pool, is made that slot's. */
static void seal_blob(uint64_t where, uint64_t slot)
{
    const struct esh_bucket *b = (struct esh_bucket *)word_at(bucket_offset(where));
    const struct esh_slot *pair = &b->slots[slot % ESH_SLOTS];
    if (run.p->fixed || !is_word(pair->value))
        return;
    uint64_t *sizes = word_at(pair->value);
    *sizes = esh_blob_sizes(esh_blob_key_size(*sizes), esh_blob_value_size(*sizes), pair->key);
}

static void seal(enum area area, uint64_t where, uint64_t word)
{
    struct esh_header *h = (struct esh_header *)word_at(run.p->header);
    switch (area) {
    case SUPERBLOCK: seal_superblock(); break;
    case DESCRIPTOR: seal_descriptor(where % unit_count()); break;
    case HEADER: h->checksum = esh_header_checksum(h); break;
    case BUCKET: seal_state(where); break;
    case SLOT: seal_blob(where, word % 28 / 2); break;
    case BLOB: seal_blob(where, word); break;
    default: break;
    }
}

/* One thing over another of its size: where over value. */
static void copy(uint64_t where, uint64_t word, uint64_t value)
{
    const uint64_t segment = run.p->buckets * sizeof(struct esh_bucket);
    const pm_off *segments = run.p->segments;
    const unsigned count = run.p->segment_count;
    switch (word % 4) {
    case 0: memmove(word_at(bucket_offset(value)), word_at(bucket_offset(where)), PM_LINE); break;
    case 1: memmove(word_at(bucket_offset(value)), word_at(bucket_offset(where)), PM_XPLINE); break;
    case 2: memmove(word_at(segments[value % count]), word_at(segments[where % count]), segment);
        break;
    default: /* perhaps a block that never was in use */
        value = segments[0] / POOL_UNIT * POOL_UNIT + value % (POOL_UNIT / segment) * segment;
        memmove(word_at(value), word_at(segments[where % count]), segment);
        break;
    }
}

static void edit(void)
{
    const enum area area = (enum area)(take(1) % 8);
    const uint64_t where = take(2), word = take(1), how = take(1), value = take(8);
    run.edited = true;
    if (area == COPY) {
        copy(where, word, value & 0xffff);
        return;
    }
    uint64_t *w = word_at(place_of(area, where, word));
    switch (how % 8) {
    case 0: *w = value; break;
    case 1: *w = 0; break;
    case 2: *w = UINT64_MAX; break;
    case 3: *w += value & 0xff; break;
    case 4: *w -= value & 0xff; break;
    case 5: *w ^= UINT64_C(1) << value % 64; break;
    case 6: *w = *word_at(place_of(area, value & 0xffff, value >> 16)); break;
    default: *w += (value & 0xff) << 32; break; /* a descriptor's length, a state's depth */
    }
    if (how & 8)
        seal(area, where, word);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static int look(void *arg, struct bytes key, struct bytes value)
{
    static char got[2 * STORE_BYTES_MAX];
    uint64_t *count = arg, word = 0;
    uint32_t size = 0;
    bool found;
    ++*count;
    if (run.s->fixed) {
        uint64_t k;
        memcpy(&k, key.data, 8);
        found = ops->get(run.s, k, &word) == 0 && memcmp(&word, value.data, 8) == 0;
    } else {
        found = ops->get_bytes(run.s, key, got, sizeof got, &size) == 0 && size == value.size &&
                memcmp(got, value.data, size) == 0;
    }
    run.missing += !found;
    return 0;
}

/* Every record, and the audit; says whether the audit passes. */
static bool check(void)
{
    char why[256] = "";
    uint64_t count = 0;
    run.missing = 0;
    must(ops->iterate(run.s, look, &count) == 0, "iterate fails");
    must(count == run.records, "iteration and recovery disagree on the number of records");
    const int error = ops->audit(run.s, why, sizeof why);
    must(error == 0 || (error == -EIO && why[0]), "an audit without a reason");
    must(error != 0 || run.missing == 0, "the audit passes, and get misses a record");
    return error == 0;
}

static bool open_both(void)
{
    char why[POOL_WHY_MAX] = "";
    hostile_restart(&bed);
    if (pool_open(&run.pool, &bed.memory, &bed.dram, why) != 0) {
        must(run.edited && why[0], "a sound pool is refused, or without a reason");
        return false;
    }
    if (ops->open(&run.s, &run.pool, &run.found) != 0) {
        must(run.edited, "a sound table is refused");
        pool_close(&run.pool);
        return false;
    }
    return true;
}

static void close_both(void)
{
    ops->close(run.s);
    pool_close(&run.pool);
}

/* Closes and opens: after recovery alone, the same table. */
static bool reopen(void)
{
    const uint64_t before = run.records;
    close_both();
    const bool open = open_both();
    must(open || run.touched || !run.clean, "recovery made a table that it refuses");
    if (!open)
        return false;
    run.records = run.found.records;
    must(run.records == before || !run.clean || (run.edited && run.touched), "other records");
    run.touched = false;
    run.clean = check();
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void insert(uint32_t id, enum hostile_put how)
{
    const bool fixed = run.s->fixed;
    const int there = hostile_get(run.s, fixed, id, VERSION);
    const int error = hostile_put(run.s, fixed, how, id, VERSION);
    run.touched = true;
    must(error == 0 || error == -EEXIST || error == -ENOENT || error == -ENOSPC ||
             error == -EOVERFLOW,
         "an error that put does not have");
    run.records += error == 0 && there == -ENOENT;
    if (!run.clean)
        return;
    must(error != -EEXIST || (how == HOSTILE_INSERT && there != -ENOENT), "not there");
    must(error != -ENOENT || (how == HOSTILE_UPDATE && there == -ENOENT), "it was there");
    must(error != 0 || hostile_get(run.s, fixed, id, VERSION) == 0, "put, and not there");
}

static void drop(uint32_t id)
{
    const int error = hostile_remove(run.s, run.s->fixed, id);
    run.touched = true;
    must(error == 0 || error == -ENOENT, "an error that remove does not have");
    run.records -= error == 0;
    must(!run.clean || hostile_get(run.s, run.s->fixed, id, VERSION) == -ENOENT, "still there");
}

static void find(uint32_t id)
{
    char text[64] = "";
    struct store_stats stats;
    (void)hostile_get(run.s, run.s->fixed, id, VERSION);
    ops->stats(run.s, &stats);
    ops->locate(run.s, id * UINT64_C(0x9e3779b1) % bed.memory.size, text, sizeof text);
    must(text[0] && stats.slots >= run.records, "stats or locate");
}

/* False: closed for good. */
static bool operate(unsigned op, uint32_t arg)
{
    const uint32_t id = arg & 128 ? HOSTILE_FRESH_ID + (arg & 127) : arg + 1;
    switch (op) {
    case 0: find(id); break;
    case 1: insert(id, HOSTILE_INSERT); break;
    case 2: insert(id, HOSTILE_UPDATE); break;
    case 3: insert(id, HOSTILE_UPSERT); break;
    case 4: drop(id); break;
    case 5:
        for (int i = 0; i < BURST; i++)
            insert(BURST_ID + run.burst++ % 4096, HOSTILE_UPSERT);
        break;
    case 6: must(check() || !run.clean, "the audit passed, and fails now"); break;
    default: return reopen();
    }
    return true;
}

static void use(void)
{
    enum { OPERATIONS = 16 };
    run.records = run.found.records;
    run.clean = check();
    for (int i = 0; i < OPERATIONS && run.size; i++) {
        const unsigned op = (unsigned)take(1) % 8;
        if (!operate(op, (uint32_t)take(1)))
            return;
    }
    must(check() || !run.clean, "the audit passed, and fails now");
    if (reopen())
        close_both();
}

/* ---- libFuzzer's ----------------------------------------------------------------------------- */

static void lay_raw(bool sealed)
{
    memset(bed.memory.base, 0, bed.memory.size);
    memcpy(bed.memory.base, run.data, run.size < RAW_BYTES ? run.size : RAW_BYTES);
    run.size = 0;
    run.edited = true;
    if (!sealed)
        return;
    static const uint64_t superblock[] = {1, 2, 3, 4, 5}; /* version .. first_unit, as they were */
    memcpy(word_at(0), pools[0].image, 8);
    for (size_t i = 0; i < sizeof superblock / sizeof superblock[0]; i++)
        memcpy(word_at(superblock[i] * 8), pools[0].image + superblock[i] * 8, 8);
    seal_superblock();
    /* The descriptors' page is far behind: what follows the superblock's lines is put there. */
    memcpy(word_at(DESCRIPTORS), word_at(3 * PM_LINE), unit_count() * 8);
    for (uint64_t unit = 0; unit < unit_count(); unit++)
        seal_descriptor(unit);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    for (int kind = 0; kind < HOSTILE_KINDS; kind++) {
        pools[kind] = hostile_make((enum hostile_kind)kind, RECORDS);
        must(pools[kind].size == RAW_BYTES, "a pool of another size");
    }
    bed = hostile_bed_open(RAW_BYTES);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    run = (struct run){.data = data, .size = size};
    const unsigned kind = (unsigned)take(1) % 8;
    const unsigned edits = (unsigned)take(1) % 8;
    if (kind == RAW) {
        lay_raw(edits & 1);
    } else {
        run.p = &pools[kind];
        memcpy(bed.memory.base, run.p->image, run.p->size);
        for (unsigned i = 0; i < edits; i++)
            edit();
    }
    if (open_both())
        use();
    return 0;
}
