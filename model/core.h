/* core.h -- one core's private side: L1, L2, TLB, line fills, prefetcher, and its clock.
 *
 * Loads issue without waiting and overlap: at most `line_fills` misses outstanding, and `window`
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

#include "model/profile.h"

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

/* The interface:
 *
 *   bool core_try_l1(struct core *c, uint64_t line, enum access kind), then core_try_l2()
 *        The private caches' part. True: served (c->answer set, clock moved on). Both false: the
 *        caller must core_reserve(), wait for its turn, then model_access().
 *   void core_reserve(struct core *c, enum access kind)
 *        Moves now_ps to when the miss can issue: a line fill free, the window not exceeded.
 *   void core_use(struct core *c)            now_ps = max(now_ps, loads_ps)
 *   void core_work(struct core *c, uint64_t cycles)
 *   uint64_t core_now(const struct core *c), core_loads(const struct core *c)
 *
 * A tag is 4 bytes: (line / sets) << 2 | state. A set is kept in order of use, newest first.
 */
enum line_state { LINE_INVALID, LINE_SHARED, LINE_EXCLUSIVE, LINE_MODIFIED };

enum { CORE_FILLS_MAX = 16, CORE_PREFETCHES = 64, TLB_WAYS = 12 };

#define CORE_NO_LINE UINT64_MAX

struct tags {
    uint32_t *tag; /* sets x ways */
    uint64_t mask; /* sets - 1 */
    unsigned shift, ways;
};

struct fill {
    uint64_t line, done_ps, instruction;
};

struct core {
    uint64_t now_ps, loads_ps, persists_ps;
    struct answer answer;

    uint64_t event_ps, cycle_ps, l1_hit_ps, l2_hit_ps, tlb_miss_ps; /* from the profile */
    struct tags l1, l2, tlb;
    uint64_t instructions, window;
    uint64_t fills_latest_ps; /* no line is still under way after this */
    uint64_t walk_ps;         /* page walk that the access under way must add */
    uint64_t trigger;         /* reaching this prefetched line asks for the next ones */
    uint64_t last_miss;       /* two neighbours in a row begin a stream */
    struct fill fills[CORE_FILLS_MAX];
    struct fill prefetches[CORE_PREFETCHES]; /* by line number */
    unsigned fill_count, slot;               /* slot: the fill that core_reserve() chose */

    uint64_t persist_ring[CORE_FILLS_MAX]; /* write-combining slots: when each is free again */
    unsigned persist_next;
    uint64_t hits, tlb_misses;
    int id, socket;
};

int core_create(struct core *c, const struct profile *p, int id, int socket);
void core_destroy(struct core *c);
uint64_t core_host_bytes(const struct core *c);

/* The miss path's view of the private caches. */
enum line_state core_state(const struct core *c, uint64_t line);

/* The line that L2 would give up for this one, or CORE_NO_LINE. */
uint64_t core_victim(const struct core *c, uint64_t line);

/* Puts a line into L1 and L2. What L2 had to give up: the line, or CORE_NO_LINE, and its state. */
uint64_t core_fill(struct core *c, uint64_t line, enum line_state state, enum line_state *gone);
/* The same for L2 only, as the prefetcher does. */
uint64_t core_fill_l2(struct core *c, uint64_t line, enum line_state state, enum line_state *gone);

/* Lowers a line's state in both caches (LINE_INVALID drops it); returns what it was. */
enum line_state core_lower(struct core *c, uint64_t line, enum line_state state);

/* When a line under way arrives, or 0. */
uint64_t core_arrival(const struct core *c, uint64_t line);

void core_reserve(struct core *c, enum access kind);
bool core_try_l2(struct core *c, uint64_t line, enum access kind);

static inline uint32_t *tags_set(const struct tags *t, uint64_t line)
{
    return t->tag + (line & t->mask) * t->ways;
}

/* The way of a line or -1. */
static inline int tags_find(const struct tags *t, uint64_t line)
{
    const uint32_t *set = tags_set(t, line);
    uint32_t want = (uint32_t)(line >> t->shift);

    for (unsigned w = 0; w < t->ways; w++)
        if (set[w] >> 2 == want && (set[w] & 3) != LINE_INVALID)
            return (int)w;
    return -1;
}

static inline void tags_touch(uint32_t *set, int way)
{
    uint32_t tag = set[way];

    for (; way > 0; way--)
        set[way] = set[way - 1];
    set[0] = tag;
}

static inline uint64_t core_now(const struct core *c)
{
    return c->now_ps;
}

static inline uint64_t core_loads(const struct core *c)
{
    return c->loads_ps;
}

static inline void core_use(struct core *c)
{
    if (c->loads_ps > c->now_ps)
        c->now_ps = c->loads_ps;
}

static inline void core_work(struct core *c, uint64_t cycles)
{
    c->instructions += cycles;
    c->now_ps += cycles * c->cycle_ps;
}

/* A private cache has the line: data after latency, or when the line that is under way arrives. */
static inline void core_hit(struct core *c, uint64_t line, enum access kind, enum stage stage,
                            uint64_t latency_ps)
{
    uint64_t done = c->now_ps + latency_ps;

    if (c->fills_latest_ps > done) {
        uint64_t arrival = core_arrival(c, line);

        if (arrival > done)
            done = arrival;
    }
    c->instructions++;
    c->hits++;
    c->now_ps += c->event_ps;
    if (kind != ACCESS_STORE && done > c->loads_ps)
        c->loads_ps = done;
    if (kind == ACCESS_ATOMIC)
        core_use(c);
    c->answer = (struct answer){.stage = stage, .done_ps = done};
}

static inline bool core_try_l1(struct core *c, uint64_t line, enum access kind)
{
    int way = tags_find(&c->l1, line);

    if (way < 0)
        return false;
    uint32_t *set = tags_set(&c->l1, line);

    c->walk_ps = 0;
    if (kind != ACCESS_LOAD) {
        if ((set[way] & 3) < LINE_EXCLUSIVE)
            return false;
        set[way] |= LINE_MODIFIED;
    }
    if (way > 0)
        tags_touch(set, way);
    core_hit(c, line, kind, STAGE_L1, c->l1_hit_ps);
    return true;
}

#endif
