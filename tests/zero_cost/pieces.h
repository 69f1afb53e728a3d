/* pieces.h -- what door.c and by_hand.c share: layouts and prototypes. */
#ifndef TESTS_ZERO_COST_PIECES_H
#define TESTS_ZERO_COST_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/pm.h"

enum { SLOTS = 15 };

struct bucket {
    uint64_t lock, used;
    struct {
        uint64_t key, value;
    } slots[SLOTS];
};

struct tail {
    uint64_t reserved, size, last;
};

bool zero_cost_probe(const struct pm_region *pool, const struct pm_region *dram, uint64_t key,
                     uint64_t *value);
int zero_cost_insert(const struct pm_region *pool, pm_off offset, uint64_t key, uint64_t value);
uint64_t zero_cost_persist(const struct pm_region *pool, pm_off offset, const void *record,
                           size_t size);

#endif
