/* dram.h -- DRAM of one socket: a latency and one server for all its channels.
 *
 *     read  --> [ server ] + latency --> done         write --> [ server ] --> accepted
 *
 * Lines of 64 B, nothing to combine. Source: FAST'20 section 3 (latency, bandwidth).
 * Threads: one caller at a time.
 */
#ifndef MODEL_DRAM_H
#define MODEL_DRAM_H

#include <stdint.h>

#include "model/profile.h"

struct dram {
    uint64_t free_ps, latency_ps, read_ps, write_ps;
    uint64_t reads, writes; /* of 64 B */
};

void dram_init(struct dram *d, const struct profile *p);
uint64_t dram_read(struct dram *d, uint64_t now_ps);
uint64_t dram_write(struct dram *d, uint64_t now_ps);

#endif
