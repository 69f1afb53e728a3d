/* llc.c -- see llc.h. Division by the number of sets is a multiplication: exact for lines below
 * 2^36 and fewer than 2^28 sets, as the reciprocal is rounded up (Granlund, Montgomery 1994). */
#include "model/llc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

int llc_create(struct llc *l, const struct profile *p, uint64_t seed)
{
    uint64_t kib = (uint64_t)(p->llc_size + p->cores * p->l2_size);

    l->sets = kib * 1024 / 64 / LLC_WAYS;
    l->reciprocal = UINT64_MAX / l->sets + 1;
    l->set = aligned_alloc(64, l->sets * sizeof *l->set);
    if (!l->set)
        return -ENOMEM;
    memset(l->set, 0, l->sets * sizeof *l->set);
    for (uint64_t s = 0; s < l->sets; s++)
        l->set[s].random = (uint32_t)((s + seed * 977 + 1) * 2654435761u) | 1;
    return 0;
}

void llc_destroy(struct llc *l)
{
    free(l->set);
}

/* line / sets; the remainder is the set. */
static uint64_t quotient_of(const struct llc *l, uint64_t line)
{
    return (uint64_t)(((wide)line * l->reciprocal) >> 64);
}

void llc_expect(const struct llc *l, uint64_t line)
{
    __builtin_prefetch(&l->set[line - quotient_of(l, line) * l->sets], 1);
}

struct llc_place llc_find(const struct llc *l, uint64_t line)
{
    const uint64_t quotient = quotient_of(l, line);
    struct llc_place p = {
        .set = &l->set[line - quotient * l->sets],
        .tag = (uint32_t)(quotient + 1) << 2,
        .way = LLC_NO_WAY,
    };

    for (int w = 0; w < LLC_WAYS; w++)
        if ((p.set->tag[w] & ~3u) == p.tag)
            p.way = w;
    return p;
}

static uint32_t draw(struct llc_set *set)
{
    uint32_t x = set->random; /* Marsaglia's xorshift32 */

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    set->random = x;
    return (uint32_t)(((uint64_t)x * LLC_WAYS) >> 32);
}

int llc_victim(struct llc_set *set)
{
    enum { DRAWS = 4 };
    int way = 0;

    for (int w = 0; w < LLC_WAYS; w++)
        if (set->tag[w] == 0)
            return w;
    for (int i = 0; i < DRAWS; i++) {
        way = (int)draw(set);
        if (set->sharer[way] == 0)
            return way;
    }
    return way;
}

uint64_t llc_line(const struct llc *l, const struct llc_set *set, int way)
{
    uint64_t index = (uint64_t)(set - l->set);

    return ((uint64_t)(set->tag[way] >> 2) - 1) * l->sets + index;
}
