/* dimm.h -- one Optane DIMM: what a 64 B request meets behind the DDR-T link.
 *
 *     read  --> XPBuffer? read buffer? --no--> AIT --> media --> read buffer
 *     write --> XPBuffer --> (media)
 *
 * A read's latency is a constant of where it was found, end to end; the media server adds waiting.
 * Lines here are counted within the DIMM. Source: section headers of the parts.
 * Threads: one caller at a time.
 */
#ifndef MODEL_DIMM_H
#define MODEL_DIMM_H

#include <stdint.h>

#include "model/ait.h"
#include "model/core.h"
#include "model/media.h"
#include "model/read_buffer.h"
#include "model/xpbuffer.h"

struct dimm {
    struct xpbuffer xpbuffer;
    struct read_buffer read_buffer;
    struct ait ait;
    struct media media;
    uint64_t hit_ps, ait_hit_ps, ait_miss_ps;
};

int dimm_create(struct dimm *d, const struct profile *p, uint64_t bytes, uint64_t seed);
void dimm_destroy(struct dimm *d);

/* When the data is at the core, had the load been issued at now_ps; who had it in *stage. */
uint64_t dimm_read(struct dimm *d, uint64_t now_ps, uint64_t line, enum stage *stage);

/* When the DIMM has taken the line. */
uint64_t dimm_write(struct dimm *d, uint64_t now_ps, uint64_t line);

#endif
