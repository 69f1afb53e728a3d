/* epoch.c -- see epoch.h. */
#include "core/epoch.h"

#include <assert.h>
#include <errno.h>

enum { LIMBO_CHUNK = 30, RECLAIM_EVERY = 32 };

struct limbo_chunk {
    pm_off next; /* older, in the volatile region */
    uint64_t count;
    struct limbo_entry {
        pm_off block;
        uint64_t epoch; /* of its retirement */
    } entries[LIMBO_CHUNK];
};

/* One worker's line: what others read first, then its own. */
struct epoch_worker {
    uint64_t inside; /* the epoch it entered in; 0: outside */
    uint64_t retired;
    pm_off limbo, spare; /* chunks in use, and empty ones */
    uint64_t pad_[4];
};

struct epoch_shared {
    uint64_t now;     /* from 1 */
    uint64_t workers; /* highest worker seen + 1 */
    uint64_t pad_[6];
    struct epoch_worker worker[EPOCH_WORKERS];
};

static struct epoch_shared PM *shared_of(const struct epoch *e)
{
    return pm_at(&e->pool->dram, e->shared);
}

static struct epoch_worker PM *worker_of(const struct epoch *e)
{
    const int self = pm_self();
    assert(self >= 0 && self < EPOCH_WORKERS);
    struct epoch_shared PM *shared = shared_of(e);
    return &shared->worker[self];
}

int epoch_init(struct epoch *e, struct pool *pool)
{
    const pm_off offset = pool_dram_alloc(pool, sizeof(struct epoch_shared));
    if (!offset)
        return -ENOMEM;
    *e = (struct epoch){.pool = pool, .shared = offset};
    struct epoch_shared PM *shared = shared_of(e);
    pm_store_release(&shared->now, UINT64_C(1));
    return 0;
}

void epoch_enter(struct epoch *e)
{
    struct epoch_shared PM *shared = shared_of(e);
    struct epoch_worker PM *worker = worker_of(e);
    uint64_t workers = pm_load_relaxed(&shared->workers);
    const uint64_t mine = (uint64_t)pm_self() + 1;
    while (workers < mine && !pm_cas(&shared->workers, &workers, mine))
        ;
    const uint64_t now = pm_load_acquire(&shared->now);
    pm_fetch_add(&worker->inside, now); /* was 0; a full barrier before the reads that follow */
}

void epoch_leave(struct epoch *e)
{
    struct epoch_worker PM *worker = worker_of(e);
    pm_store_release(&worker->inside, UINT64_C(0));
}

/* The oldest epoch that a reader is inside; UINT64_MAX when there is none. */
static uint64_t oldest_inside(const struct epoch *e)
{
    struct epoch_shared PM *shared = shared_of(e);
    const uint64_t workers = pm_load_acquire(&shared->workers);
    uint64_t oldest = UINT64_MAX;
    for (uint64_t i = 0; i < workers; i++) {
        const uint64_t inside = pm_load_acquire(&shared->worker[i].inside);
        if (inside && inside < oldest)
            oldest = inside;
    }
    return oldest;
}

/* Frees a chunk's blocks retired before oldest; keeps the others, in front. How many it freed. */
static uint64_t reclaim_chunk(struct epoch *e, struct limbo_chunk PM *chunk, uint64_t oldest)
{
    const uint64_t count = pm_load(&chunk->count);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const pm_off block = pm_load(&chunk->entries[i].block);
        const uint64_t epoch = pm_load(&chunk->entries[i].epoch);
        if (epoch < oldest) {
            pool_free(e->pool, block);
            continue;
        }
        pm_store(&chunk->entries[kept].block, block);
        pm_store(&chunk->entries[kept].epoch, epoch);
        kept++;
    }
    pm_store(&chunk->count, kept);
    return count - kept;
}

/* Walks one worker's limbo; chunks that empty become spare. How many blocks it freed. */
static uint64_t reclaim(struct epoch *e, struct epoch_worker PM *worker, uint64_t oldest)
{
    uint64_t freed = 0;
    pm_off kept = 0;
    pm_off offset = pm_load(&worker->limbo);
    while (offset) {
        struct limbo_chunk PM *chunk = pm_at(&e->pool->dram, offset);
        const pm_off next = pm_load(&chunk->next);
        freed += reclaim_chunk(e, chunk, oldest);
        const uint64_t left = pm_load(&chunk->count);
        const pm_off spare = pm_load(&worker->spare);
        pm_store(&chunk->next, left ? kept : spare);
        if (left)
            kept = offset;
        else
            pm_store(&worker->spare, offset);
        offset = next;
    }
    pm_store(&worker->limbo, kept);
    return freed;
}

/* A chunk with room at the head of the worker's limbo; 0 if there is none to be had. */
static pm_off chunk_with_room(struct epoch *e, struct epoch_worker PM *worker)
{
    const pm_off head = pm_load(&worker->limbo);
    if (head) {
        struct limbo_chunk PM *chunk = pm_at(&e->pool->dram, head);
        const uint64_t count = pm_load(&chunk->count);
        if (count < LIMBO_CHUNK)
            return head;
    }
    pm_off fresh = pm_load(&worker->spare);
    if (fresh) {
        struct limbo_chunk PM *chunk = pm_at(&e->pool->dram, fresh);
        const pm_off spare = pm_load(&chunk->next);
        pm_store(&worker->spare, spare);
    } else {
        fresh = pool_dram_alloc(e->pool, sizeof(struct limbo_chunk));
        if (!fresh)
            return 0;
    }
    struct limbo_chunk PM *chunk = pm_at(&e->pool->dram, fresh);
    pm_store(&chunk->count, UINT64_C(0));
    pm_store(&chunk->next, head);
    pm_store(&worker->limbo, fresh);
    return fresh;
}

void epoch_retire(struct epoch *e, pm_off block)
{
    struct epoch_shared PM *shared = shared_of(e);
    struct epoch_worker PM *worker = worker_of(e);
    const pm_off offset = chunk_with_room(e, worker);
    if (!offset)
        return;
    struct limbo_chunk PM *chunk = pm_at(&e->pool->dram, offset);
    const uint64_t count = pm_load(&chunk->count);
    /* A read and a barrier in one: no load of the scan below may come before the unlink. */
    const uint64_t now = pm_fetch_add(&shared->now, UINT64_C(1));
    pm_store(&chunk->entries[count].block, block);
    pm_store(&chunk->entries[count].epoch, now);
    pm_store(&chunk->count, count + 1);

    const uint64_t retired = pm_load(&worker->retired) + 1;
    pm_store(&worker->retired, retired);
    if (retired % RECLAIM_EVERY == 0)
        reclaim(e, worker, oldest_inside(e));
}

bool epoch_reclaim(struct epoch *e)
{
    struct epoch_worker PM *worker = worker_of(e);
    const uint64_t oldest = oldest_inside(e);
    return reclaim(e, worker, oldest) != 0;
}

void epoch_empty(struct epoch *e)
{
    struct epoch_shared PM *shared = shared_of(e);
    for (int i = 0; i < EPOCH_WORKERS; i++)
        reclaim(e, &shared->worker[i], UINT64_MAX);
}
