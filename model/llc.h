/* llc.h -- one socket's shared cache and the directory of its private caches.
 *
 *     set (64 B) = 12 tags of 4 B (2 state bits: dirty, owned) + 12 sharer codes of 1 B + random
 *     sharer code: 0 no private copy, 1..64 that one core, 255 several cores
 *
 * Inclusive, with the capacity of the LLC plus all L2s of the socket: what a real, non-inclusive
 * LLC holds together with them. Owned: the one sharer may write without asking. The victim is
 * random among lines that no core has, if there is one in four draws.
 *
 * Source: Intel optimization manual (Skylake-SP cache hierarchy); the inclusive form is ours.
 * Threads: one caller at a time.
 */
#ifndef MODEL_LLC_H
#define MODEL_LLC_H

#include <stdint.h>

#include "model/profile.h"

enum { LLC_WAYS = 12, LLC_SEVERAL = 255, LLC_DIRTY = 1, LLC_OWNED = 2, LLC_NO_WAY = -1 };

struct llc_set {
    uint32_t tag[LLC_WAYS]; /* (line / sets + 1) << 2 | LLC_DIRTY | LLC_OWNED; 0: free */
    uint8_t sharer[LLC_WAYS];
    uint32_t random;
};

struct llc {
    struct llc_set *set;
    uint64_t sets, reciprocal;
};

struct llc_place {
    struct llc_set *set;
    uint32_t tag; /* without state */
    int way;      /* or LLC_NO_WAY */
};

int llc_create(struct llc *l, const struct profile *p, uint64_t seed);
void llc_destroy(struct llc *l);

struct llc_place llc_find(const struct llc *l, uint64_t line);

/* The way that a new line may take; the set still holds what was there. */
int llc_victim(struct llc_set *set);

/* The line in a way, given its set. */
uint64_t llc_line(const struct llc *l, const struct llc_set *set, int way);

#endif
