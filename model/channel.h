/* channel.h -- one memory channel: the write pending queue and the DDR-T link before a DIMM.
 *
 *     write --> [ WPQ: ring of 64 completion times ] --> link --> DIMM
 *               accepted = durable
 *     read  --> link --> DIMM
 *
 * A write is accepted when the slot it takes is free, and not before `hazard` has passed since
 * the same line was accepted last (a small table, by line). A read of such a line waits as well.
 *
 * Source: hazard and WPQ depth inferred from FAST'20 and LENS curves; EuroSys'22 section 3.5 for
 * read after persist. Threads: one caller at a time.
 */
#ifndef MODEL_CHANNEL_H
#define MODEL_CHANNEL_H

#include <stdint.h>

#include "model/dimm.h"

enum { CHANNEL_WPQ_MAX = 256, CHANNEL_HAZARDS = 256 };

struct channel {
    struct dimm *dimm;
    uint64_t wpq[CHANNEL_WPQ_MAX]; /* when each slot is free again */
    uint64_t hazard_line[CHANNEL_HAZARDS], hazard_until_ps[CHANNEL_HAZARDS];
    uint64_t link_free_ps, link_ps, hazard_ps, wpq_last_ps;
    unsigned wpq_next, wpq_count;
    uint64_t reads, writes; /* of 64 B */
};

void channel_init(struct channel *c, const struct profile *p, struct dimm *dimm);
uint64_t channel_read(struct channel *c, uint64_t now_ps, uint64_t line, enum stage *stage);

/* When the write is accepted, which is when it is durable. */
uint64_t channel_write(struct channel *c, uint64_t now_ps, uint64_t line);

/* When the queue is empty. */
uint64_t channel_quiet(const struct channel *c, uint64_t now_ps);

#endif
