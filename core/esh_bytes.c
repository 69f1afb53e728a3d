/* esh_bytes.c -- ESH's variable records: the slot holds the key's hash and a blob's offset.
 *
 *   slot   | hash | offset | ----> blob  | sizes and check 8 | key | value |
 *
 * The check binds the blob to its key's hash, and so to its slot.
 *
 * A blob is written and flushed before its slot's home is locked, fenced before the offset is
 * stored, and never changed. An update swaps the offset. Blobs that were seen go through the epoch:
 * a reader may still be comparing keys in one. A blob that a crash leaves unreferenced is not
 * reached by recovery, and so is free.
 */
#include "core/esh.h"

#include "core/hash.h"

enum { CHUNK = 64 }; /* of a comparison: one line */

bool esh_blob_matches(struct store *s, pm_off offset, struct bytes key)
{
    struct esh_blob PM *blob = pm_at(&s->pool->memory, offset);
    const uint32_t size = esh_blob_key_size(pm_load(&blob->sizes));
    if (size != key.size)
        return false;

    const char PM *stored = (const char PM *)(blob + 1);
    const char *wanted = key.data;
    for (uint32_t done = 0; done < size; done += CHUNK) {
        char chunk[CHUNK];
        const uint32_t n = size - done < CHUNK ? size - done : CHUNK;
        pm_read(chunk, stored + done, n);
        if (hash_compare(chunk, wanted + done, n) != 0)
            return false;
    }
    return true;
}

static bool legal(struct bytes b)
{
    return b.size >= 1 && b.size <= STORE_BYTES_MAX;
}

static struct esh_key bytes_key(const struct store *s, struct bytes key)
{
    const uint64_t hash = esh_hash_bytes(s, key);
    return (struct esh_key){.hash = hash, .word = hash, .bytes = key};
}

/* A new blob, flushed but not fenced; 0 when the pool is full. */
static pm_off write_blob(struct store *s, struct bytes key, struct bytes value, uint64_t hash)
{
    const uint64_t size = sizeof(struct esh_blob) + key.size + value.size;
    pm_off offset = pool_alloc(s->pool, size, ESH_TAG_BLOB);
    if (!offset && epoch_reclaim(&s->epoch))
        offset = pool_alloc(s->pool, size, ESH_TAG_BLOB);
    if (!offset)
        return 0;
    struct esh_blob PM *blob = pm_at(&s->pool->memory, offset);
    char PM *bytes = (char PM *)(blob + 1);
    const uint64_t sizes = esh_blob_sizes(key.size, value.size, hash);
    pm_store(&blob->sizes, sizes);
    pm_write(bytes, key.data, key.size);
    pm_write(bytes + key.size, value.data, value.size);
    pm_flush(blob, size);
    return offset;
}

static int put_bytes(struct store *s, struct bytes key, struct bytes value, enum esh_mode mode)
{
    if (!legal(key) || !legal(value))
        return -EINVAL;
    const struct esh_key k = bytes_key(s, key);
    const pm_off blob = write_blob(s, key, value, k.hash);
    if (!blob)
        return -ENOSPC;

    pm_off old = 0;
    const int error = esh_put(s, &k, blob, mode, &old);
    if (error)
        pool_free(s->pool, blob); /* nobody has seen it */
    else if (old)
        epoch_retire(&s->epoch, old);
    return error;
}

int esh_insert_bytes(struct store *s, struct bytes key, struct bytes value)
{
    return put_bytes(s, key, value, ESH_INSERT);
}

int esh_update_bytes(struct store *s, struct bytes key, struct bytes value)
{
    return put_bytes(s, key, value, ESH_UPDATE);
}

int esh_upsert_bytes(struct store *s, struct bytes key, struct bytes value)
{
    return put_bytes(s, key, value, ESH_UPSERT);
}

int esh_remove_bytes(struct store *s, struct bytes key)
{
    if (!legal(key))
        return -EINVAL;
    const struct esh_key k = bytes_key(s, key);
    pm_off old = 0;
    const int error = esh_drop(s, &k, &old);
    if (!error)
        epoch_retire(&s->epoch, old);
    return error;
}

int esh_get_bytes(struct store *s, struct bytes key, void *value, uint32_t capacity,
                  uint32_t *size)
{
    if (!legal(key))
        return -EINVAL;
    const struct esh_key k = bytes_key(s, key);
    struct esh_place place;
    int error;

    epoch_enter(&s->epoch);
    do
        error = esh_peek(s, &k, &place);
    while (error == -EAGAIN);
    if (!error) {
        struct esh_blob PM *blob = pm_at(&s->pool->memory, place.value);
        const char PM *bytes = (const char PM *)(blob + 1);
        *size = esh_blob_value_size(pm_load(&blob->sizes));
        pm_read(value, bytes + key.size, *size < capacity ? *size : capacity);
    }
    epoch_leave(&s->epoch);
    return error;
}
