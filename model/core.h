/* core.h -- one core's private side: L1, L2, TLB, line fills, prefetcher, and its clock.
 *
 * Loads issue without waiting and overlap: at most `line_fills` misses outstanding, at most `window`
 * instructions past the oldest unfinished one. now_ps is the core's clock: when its next event
 * issues. loads_ps is when the last outstanding load arrives; waiting for it (an address, a branch,
 * an atomic) is core_use(). persists_ps is when the last flush or stream becomes durable.
 *
 * Inline here because it runs on every event; the rest of the chain is in model.c.
 * Threads: one caller at a time. Time: integer picoseconds.
 */
#ifndef MODEL_CORE_H
#define MODEL_CORE_H

#include <stdbool.h>
#include <stdint.h>

enum access { ACCESS_LOAD, ACCESS_STORE, ACCESS_ATOMIC };

/* Who had the data, or took it. */
enum stage {
    STAGE_NONE,
    STAGE_L1,
    STAGE_L2,
    STAGE_LLC,
    STAGE_PEER, /* another core's private cache */
    STAGE_DRAM,
    STAGE_READ_BUFFER, /* on the DIMM */
    STAGE_XPBUFFER,
    STAGE_AIT,   /* the media, its address found in the AIT cache */
    STAGE_MEDIA, /* the media, after an AIT miss */
    STAGE_WPQ,   /* a write: accepted, and so durable */
    STAGES,
};

const char *stage_name(enum stage stage); /* "L1", "read buffer", .. */

struct answer {
    enum stage stage;
    bool remote;      /* crossed to the other socket */
    uint64_t done_ps; /* data here, or durable */
};

struct core;

/* The interface, in words; definitions below and in core.c:
 *
 *   bool core_try(struct core *c, uint64_t line, enum access kind)
 *        The private caches' part. True: served (c->answer set, clock moved on). False: the caller
 *        must core_reserve(), wait for its turn, then model_access().
 *   void core_reserve(struct core *c, enum access kind)
 *        Moves now_ps to when the miss can issue: a line fill free, the window not exceeded.
 *   void core_use(struct core *c)            now_ps = max(now_ps, loads_ps)
 *   void core_work(struct core *c, uint64_t cycles)
 *   uint64_t core_now(const struct core *c), core_loads(const struct core *c)
 */

#endif
