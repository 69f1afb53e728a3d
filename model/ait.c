/* ait.c -- see ait.h. */
#include "model/ait.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ait_create(struct ait *a, const struct profile *p)
{
    a->ways = (uint32_t)p->ait_ways;
    a->sets = (uint32_t)(p->ait_entries / p->ait_ways);
    a->page = calloc((size_t)a->sets * a->ways, sizeof *a->page);
    return a->page ? 0 : -ENOMEM;
}

void ait_destroy(struct ait *a)
{
    free(a->page);
}

bool ait_lookup(struct ait *a, uint64_t page)
{
    uint32_t *set = a->page + (size_t)(page % a->sets) * a->ways;
    uint32_t want = (uint32_t)page + 1;
    uint32_t w = 0;

    while (w < a->ways - 1 && set[w] != want)
        w++;
    bool hit = set[w] == want;

    memmove(set + 1, set, w * sizeof *set);
    set[0] = want;
    return hit;
}
