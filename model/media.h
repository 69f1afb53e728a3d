/* media.h -- the 3D-XPoint media of one DIMM: one server for reads and writes, and its wear.
 *
 *     reads (256 B) --+--> [ server: free_ps ] --> done
 *     writes ---------+         '--> wear counter of the 4 KiB block --> stall
 *
 * Reads and writes add up in the one server. For every write, `background` more happen (exact
 * accumulator): counted, and not served. A block written `threshold` times, the writes no further
 * apart than `window`, is moved: the server stalls.
 *
 * Source: additive law and occupancies, FAST'20 section 4 data; wear, MICRO'20 (LENS).
 * Threads: one caller at a time.
 */
#ifndef MODEL_MEDIA_H
#define MODEL_MEDIA_H

#include <stdint.h>

#include "model/profile.h"

struct media {
    uint64_t free_ps, busy_ps;
    uint64_t read_ps, write_ps, stall_ps, window_ps;
    uint64_t background_ppm, background_sum;
    uint64_t reads, writes, moves; /* in XPLines */
    uint32_t threshold;
    uint32_t *wear; /* per 4 KiB block of this DIMM */
    uint64_t wear_blocks;
    uint64_t hot_block, hot_ps; /* the block written last, and when */
};

int media_create(struct media *m, const struct profile *p, uint64_t bytes);
void media_destroy(struct media *m);

/* When a 256 B read that arrives now leaves the server. */
uint64_t media_read(struct media *m, uint64_t now_ps);

/* A write of this XPLine is to come: the host fetches its wear counter meanwhile. No effect in the
 * model; random writes over a large region run twice as fast or more. */
static inline void media_expect(const struct media *m, uint64_t xpline)
{
    __builtin_prefetch(&m->wear[(xpline / 16) % m->wear_blocks], 1);
}

/* The same as media_read() for a write. */
uint64_t media_write(struct media *m, uint64_t now_ps, uint64_t xpline);

#endif
