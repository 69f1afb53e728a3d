/* profile.h -- a machine as numbers: read from a file, by name, or set one at a time.
 *
 *     base NAME                          (optional, first: start from another profile)
 *     name value unit  # source          (one line per number)
 *
 * Times are held in picoseconds, everything else in the unit its line must state. Errors name
 * file, line and key, and say what to write instead. Built-in profiles are the files of
 * profiles/, embedded at build time.
 *
 * Threads: no state; any number of callers. Errors: -EINVAL or -ENOENT with a sentence in why.
 */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include <stddef.h>
#include <stdint.h>

enum { PROFILE_NAME_MAX = 64 };

struct profile {
    char name[PROFILE_NAME_MAX];

    /* the processor */
    int64_t sockets, cores, dimms; /* cores and DIMMs of one socket */
    int64_t cycle, event;
    int64_t l1_size, l1_ways, l1_hit;
    int64_t l2_size, l2_ways, l2_hit;
    int64_t llc_size, llc_hit, peer_hit;
    int64_t tlb_entries, tlb_miss;
    int64_t line_fills, window, prefetch;

    /* persisting */
    int64_t flush_latency, stream_latency, persist_gap;
    int64_t flush_evicts, cache_durable;

    /* memory controller and links */
    int64_t interleave, wpq, hazard, link;
    int64_t remote_read, remote_write, upi;

    /* the DIMM; latencies are end to end, from the load's issue */
    int64_t media; /* 0: the persistent region is DRAM */
    int64_t read_buffer_hit, ait_hit, ait_miss;
    int64_t read_buffer, xpbuffer, xpbuffer_draws;
    int64_t ait_entries, ait_ways;
    int64_t media_read, media_write, background;
    int64_t wear_threshold, wear_window, wear_stall;

    int64_t dram_latency, dram_read, dram_write;
};

/* A built-in name, or a path (anything with a slash or a dot). */
int profile_load(struct profile *p, const char *name_or_path, char *why, size_t why_size);

/* One "name=value"; the value is in the unit of the profile's files and carries none. */
int profile_set(struct profile *p, const char *assignment, char *why, size_t why_size);

int profile_count(void);
int profile_builtin(int i, const char **name, const char **summary);

#endif
