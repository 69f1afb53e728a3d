/* epoch.h -- when may a block that lock-free readers might still see be used again?
 *
 *     reader   epoch_enter .. reads .. epoch_leave
 *     writer   unlinks a block, epoch_retire(block): freed when every reader that was inside then
 *              has left
 *
 * What holds. A reader inside publishes the epoch it entered in. A retired block carries the epoch
 * of its retirement, and is freed once every published epoch is later. Entering is a locked
 * instruction, so a reader's loads come after its epoch is seen. Nobody waits: what cannot be freed
 * yet stays in limbo, a per-worker list in the volatile region that grows as needed. What a crash
 * leaves in limbo returns through the reachability scan.
 *
 * Threads: up to EPOCH_WORKERS workers, each by its pm_self(). A worker is inside at most once.
 * Source: K. Fraser, "Practical lock freedom" (2004), ch. 5; ours frees by the oldest reader and
 * not in three generations.
 */
#ifndef CORE_EPOCH_H
#define CORE_EPOCH_H

#include "core/pool.h"

enum { EPOCH_WORKERS = 1024 };

struct epoch {
    struct pool *pool;
    pm_off shared; /* in the volatile region */
};

/* -ENOMEM: the volatile region is full. */
int epoch_init(struct epoch *e, struct pool *pool) PM_EXPORT(epoch_init);
/* Frees all that waits. No worker may be inside. */
void epoch_empty(struct epoch *e) PM_EXPORT(epoch_empty);
void epoch_enter(struct epoch *e) PM_EXPORT(epoch_enter);
void epoch_leave(struct epoch *e) PM_EXPORT(epoch_leave);
/* block was allocated by pool_alloc, and is unlinked durably. If the volatile region has no room
 * for the list any more, the block is lost until the pool is opened again. */
void epoch_retire(struct epoch *e, pm_off block) PM_EXPORT(epoch_retire);
/* Frees what this worker has in limbo and no reader can see any more: for when the pool is full,
 * since retiring alone looks only now and then. True if it freed something. */
bool epoch_reclaim(struct epoch *e) PM_EXPORT(epoch_reclaim);

#endif
