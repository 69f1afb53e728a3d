/* llc.h -- one socket's shared cache and the directory of its private caches.
 *
 *     set (64 B) = 10 tags of 4 B (2 state bits: dirty, owned) + 10 sharer codes of 2 B + random
 *
 *     sharer code, up to two     0, second + 1 in bits 13 .. 7, first + 1 in bits 6 .. 0
 *                  more          1 in bit 15, bit g of 7 .. 0: cores 8g .. 8g + 7
 *
 * Inclusive, with the capacity of the LLC plus all L2s of the socket: what a real, non-inclusive
 * LLC holds together with them. Owned: the one sharer may write without asking. The victim is
 * random among lines that no core has, if there is one in four draws. A set is one host cache line.
 *
 * Source: Intel optimization manual (Skylake-SP cache hierarchy); the inclusive form is ours. Two
 * pointers, then a coarse vector: Gupta, Weber, Mowry, ICPP 1990. Cores that a vector names in vain
 * cost the host a look each; in the model such a line counts as shared until somebody writes it.
 * Threads: one caller at a time.
 */
#ifndef MODEL_LLC_H
#define MODEL_LLC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

enum { LLC_WAYS = 10, LLC_DIRTY = 1, LLC_OWNED = 2, LLC_NO_WAY = -1 };

struct llc_set {
    uint32_t tag[LLC_WAYS]; /* (line / sets + 1) << 2 | LLC_DIRTY | LLC_OWNED; 0: free */
    uint16_t sharer[LLC_WAYS];
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

/* The host fetches the line's set, for llc_find() to come. No effect in the model. */
void llc_expect(const struct llc *l, uint64_t line);

/* The way that a new line may take; the set still holds what was there. */
int llc_victim(struct llc_set *set);

/* The line in a way, given its set. */
uint64_t llc_line(const struct llc *l, const struct llc_set *set, int way);

/* Sharer codes; core: 0 .. 63, of the socket. Removing leaves a coarse code as it is. */
enum { SHARERS_COARSE = 1 << 15, SHARERS_SECOND = 7, SHARERS_ONE = 127, SHARERS_GROUP = 8 };

static inline bool sharers_only(uint16_t code, unsigned core)
{
    return code == 0 || code == core + 1;
}

static inline uint16_t sharers_add(uint16_t code, unsigned core)
{
    const unsigned first = code & SHARERS_ONE, second = code >> SHARERS_SECOND & SHARERS_ONE;

    if (code & SHARERS_COARSE)
        return (uint16_t)(code | 1u << core / SHARERS_GROUP);
    if (first == core + 1 || second == core + 1)
        return code;
    if (first == 0)
        return (uint16_t)(core + 1);
    if (second == 0)
        return (uint16_t)(code | (core + 1) << SHARERS_SECOND);
    return (uint16_t)(SHARERS_COARSE | 1u << (first - 1) / SHARERS_GROUP |
                      1u << (second - 1) / SHARERS_GROUP | 1u << core / SHARERS_GROUP);
}

static inline uint16_t sharers_remove(uint16_t code, unsigned core)
{
    const unsigned first = code & SHARERS_ONE, second = code >> SHARERS_SECOND & SHARERS_ONE;

    if (code & SHARERS_COARSE)
        return code;
    if (first == core + 1)
        return (uint16_t)second;
    return second == core + 1 ? (uint16_t)first : code;
}

#endif
