/* model.h -- the machine as arithmetic: requests in, completion times out.
 *
 *     core (core.h) --miss--> LLC --> socket hop --> channel: RPQ, WPQ --> DDR-T link
 *         --> DIMM: read buffer | XPBuffer --> AIT cache --> media (one server) --> wear
 *
 * Every stage is O(1): a resource keeps the time at which it is next free. A request walks its path
 * once; at each stage start = max(arrival, free), free = start + occupancy. Time is an argument, in
 * integer picoseconds; the caller (backends/emul.c) owns the clocks, and calls in issue order: the
 * core with the smallest now_ps goes first. Addresses are 64 B line numbers: persistent memory
 * from 0, DRAM with bit LINE_DRAM set; both count from their region's base, never from a host
 * address. Nothing depends on the host: same calls, same answers.
 *
 * Threads: one caller at a time.
 * Source: per stage, in the stage's own header; default numbers in profiles/.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/core.h"
#include "model/profile.h"

#define LINE_DRAM (1ull << 35) /* lines from here on are DRAM: 2 TiB of persistent memory below */

struct model_counters {
    uint64_t imc_read_bytes, imc_write_bytes; /* memory controller <-> Optane DIMMs, 64 B each */
    uint64_t media_read_bytes, media_write_bytes; /* 256 B each; reads include partial-line fills */
    uint64_t dram_read_bytes, dram_write_bytes;
    uint64_t flush_lines;    /* lines flushed, clean ones too */
    uint64_t flush_clean_lines; /* of those, lines that had nothing to write back */
    uint64_t stream_lines;   /* lines streamed */
    uint64_t fences;
    uint64_t evict_lines;    /* dirty lines that left the caches on their own, to Optane */
    uint64_t private_hits, llc_hits, peer_hits, tlb_misses, prefetched_lines;
    uint64_t wear_moves;     /* wear-levelling stalls */
    uint64_t media_busy_ps;  /* summed over DIMMs */
};

struct model;

/* pm_bytes: capacity of the persistent region (wear counters are kept for it).
 * -ENOMEM; -EINVAL: the profile cannot be built (a sentence in why). */
int model_create(struct model **m, const struct profile *profile, uint64_t pm_bytes,
                 uint64_t seed, char *why, size_t why_size);
void model_destroy(struct model *m);

const struct profile *model_profile(const struct model *m);
struct core *model_core(struct model *m, int core); /* 0 .. sockets x cores - 1 */

/* Bytes of host memory that the model has allocated. */
uint64_t model_host_bytes(const struct model *m);

/* L1 does not have the line: the host fetches what a miss would look at. No effect in the model. */
void model_expect(const struct model *m, const struct core *c, uint64_t line);

/* The part of an access that leaves the private caches. core_try_l1() and _l2() said no and core_reserve() has
 * set core->now_ps to the issue time. Sets core->answer, and for loads core->loads_ps. */
void model_access(struct model *m, struct core *c, uint64_t line, enum access kind);

/* Begin writing back one line, from whichever cache holds it dirty; durable at
 * core->answer.done_ps, which core->persists_ps includes. */
void model_flush(struct model *m, struct core *c, uint64_t line);

/* A non-temporal store of one line or a part of it; cached copies are dropped (written back first
 * if the part leaves dirty bytes). */
void model_stream(struct model *m, struct core *c, uint64_t line, unsigned bytes);

/* Wait for this core's flushes and streams. */
void model_fence(struct model *m, struct core *c);

/* A hint: the line begins to move to the core's caches if a line fill is free. */
void model_prefetch(struct model *m, struct core *c, uint64_t line);

/* Write back everything dirty in caches, queues and XPBuffers; the caches keep it clean. Counted
 * in the counters as it happens. All clocks move to the instant at which all is quiet, which it
 * returns: a window that begins here owes nothing to what was before. */
uint64_t model_drain(struct model *m);

/* One 64 B request of socket 0 straight to the channel, without cores and caches: when the data is
 * there, or the write durable. For benchmarks of the device. */
uint64_t model_device_access(struct model *m, uint64_t now_ps, uint64_t line, bool write);

void model_counters(const struct model *m, struct model_counters *out);

/* Bytes of the XPLine of this line that wait in the XPBuffer (a multiple of 64), or -1. */
int model_xpline_bytes(const struct model *m, uint64_t line);

#endif
