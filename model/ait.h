/* ait.h -- the cache of the address indirection table: is the media address of a 4 KiB page known?
 *
 *     page --> set = page bits --> 16 ways in order of use --> hit | miss (the oldest gives way)
 *
 * Source: 4096 entries, 16 ways, LRU, page bits as index: NVLeak (USENIX Security'23).
 * Threads: one caller at a time.
 */
#ifndef MODEL_AIT_H
#define MODEL_AIT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

struct ait {
    uint32_t *page; /* page + 1, so that 0 is free */
    uint32_t sets, ways;
};

int ait_create(struct ait *a, const struct profile *p);
void ait_destroy(struct ait *a);
bool ait_lookup(struct ait *a, uint64_t page);

#endif
