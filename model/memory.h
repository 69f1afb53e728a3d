/* memory.h -- everything below the caches: sockets' DRAM, channels, DIMMs, and the way to them.
 *
 *     line --DRAM--> the asking socket's DRAM
 *          --PM----> home socket 0 (others cross UPI) --interleave--> channel --> DIMM
 *
 * A profile without 256-byte media keeps the persistent region in socket 0's DRAM: 64-byte media,
 * nothing amplified. Source: remote adders and UPI, FAST'20 section 6 and SIGMOD'21.
 * Threads: one caller at a time.
 */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model/channel.h"
#include "model/dram.h"

enum { SOCKETS_MAX = 2, DIMMS_MAX = 16 };

struct memory {
    struct channel channel[DIMMS_MAX];
    struct dimm dimm[DIMMS_MAX];
    struct dram dram[SOCKETS_MAX];
    uint64_t upi_free_ps, upi_ps, remote_read_ps, remote_write_ps;
    uint64_t stripe, dimms; /* lines of one stripe */
    bool media;
    uint64_t pm_reads, pm_writes; /* of 64 B, whatever serves them */
};

int memory_create(struct memory *m, const struct profile *p, uint64_t pm_bytes, uint64_t seed);
void memory_destroy(struct memory *m);

/* Sets stage, remote and done_ps. */
void memory_read(struct memory *m, uint64_t now_ps, uint64_t line, int socket, struct answer *out);

/* When the write is accepted, without the latency of getting there. */
uint64_t memory_write(struct memory *m, uint64_t now_ps, uint64_t line, int socket);

/* Empties queues and buffers; the instant at which all is quiet. */
uint64_t memory_drain(struct memory *m, uint64_t now_ps);

/* The DIMM of a persistent line, and the line's number there. */
unsigned memory_route(const struct memory *m, uint64_t line, uint64_t *local);

#endif
