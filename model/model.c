/* model.c -- see model.h: the chain from a core's miss to memory, and coherence on the way.
 *
 *     model_access --> own LLC --> the other socket's LLC (only if it is in use) --> memory
 *
 * A store takes the line from every other cache first. A victim of the LLC leaves the private
 * caches too, and is written to memory if any of them had changed it.
 */
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/llc.h"
#include "model/memory.h"

struct model {
    struct profile profile;
    int sockets, cores; /* cores of one socket */
    struct core *core;
    struct llc llc[SOCKETS_MAX];
    bool active[SOCKETS_MAX]; /* a core of this socket has touched memory */
    struct memory memory;
    struct model_counters n;
    uint64_t llc_hit_ps, peer_hit_ps, flush_ps, stream_ps, gap_ps, remote_ps;
    uint64_t host_bytes;
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Lowers a line in one core's private caches, unless it is the core that asks; true if it had
 * changed it. */
static bool lower_one(struct core *c, uint64_t line, const struct core *except,
                      enum line_state state)
{
    return c != except && core_lower(c, line, state) == LINE_MODIFIED;
}

/* The same for every core that the code names. */
static bool lower_sharers(struct model *m, int socket, uint64_t line, uint16_t code,
                          const struct core *except, enum line_state state)
{
    struct core *cores = &m->core[socket * m->cores];
    const unsigned first = code & SHARERS_ONE, second = code >> SHARERS_SECOND & SHARERS_ONE;
    bool dirty = false;

    if (!(code & SHARERS_COARSE)) {
        if (first)
            dirty = lower_one(&cores[first - 1], line, except, state);
        if (second && lower_one(&cores[second - 1], line, except, state))
            dirty = true;
        return dirty;
    }
    for (int i = 0; i < m->cores; i++)
        if (code >> i / SHARERS_GROUP & 1 && lower_one(&cores[i], line, except, state))
            dirty = true;
    return dirty;
}

/* A core's number within its socket. */
static unsigned seat(const struct model *m, const struct core *c)
{
    return (unsigned)(c->id - c->socket * m->cores);
}

/* Takes a line out of one socket altogether; true if it was dirty. */
static bool expel(struct model *m, int socket, uint64_t line, struct llc_set *set, int way)
{
    bool dirty = lower_sharers(m, socket, line, set->sharer[way], NULL, LINE_INVALID) ||
                 (set->tag[way] & LLC_DIRTY);

    set->tag[way] = 0;
    set->sharer[way] = 0;
    return dirty;
}

static bool drop(struct model *m, int socket, uint64_t line)
{
    struct llc_place at = llc_find(&m->llc[socket], line);

    return at.way != LLC_NO_WAY && expel(m, socket, line, at.set, at.way);
}

/* Takes a line out of every cache in use; true if one of them had changed it. */
static bool drop_everywhere(struct model *m, uint64_t line)
{
    bool dirty = false;

    for (int s = 0; s < m->sockets; s++)
        if (m->active[s] && drop(m, s, line))
            dirty = true;
    return dirty;
}

/* Lets every cache of a socket keep a line, clean; true if it was dirty. */
static bool clean(struct model *m, int socket, uint64_t line, enum line_state state)
{
    struct llc_place at = llc_find(&m->llc[socket], line);

    if (at.way == LLC_NO_WAY)
        return false;
    uint32_t *tag = &at.set->tag[at.way];
    bool dirty = lower_sharers(m, socket, line, at.set->sharer[at.way], NULL, state) ||
                 (*tag & LLC_DIRTY);

    *tag &= ~(uint32_t)LLC_DIRTY;
    if (state == LINE_SHARED)
        *tag &= ~(uint32_t)LLC_OWNED;
    return dirty;
}

static void make_room(struct model *m, int socket, struct llc_set *set, int way, uint64_t now_ps)
{
    if (set->tag[way] == 0)
        return;
    uint64_t line = llc_line(&m->llc[socket], set, way);

    if (expel(m, socket, line, set, way)) {
        m->n.evict_lines += !(line & LINE_DRAM);
        memory_write(&m->memory, now_ps, line, socket);
    }
}

/* The other socket's part of a request: it gives the line up, or keeps a shared copy. True if it
 * had the line; *dirty if the line comes changed. */
static bool ask_other_socket(struct model *m, int socket, uint64_t line, bool own, bool *dirty)
{
    int other = 1 - socket;

    *dirty = false;
    if (m->sockets < 2 || !m->active[other])
        return false;
    if (llc_find(&m->llc[other], line).way == LLC_NO_WAY)
        return false;
    *dirty = own ? drop(m, other, line) : clean(m, other, line, LINE_SHARED);
    return true;
}

/* The line is in this socket's LLC. */
static enum line_state share(struct model *m, struct core *c, uint64_t line, struct llc_place at,
                             bool own, struct answer *out)
{
    uint32_t *tag = &at.set->tag[at.way];
    uint16_t *sharer = &at.set->sharer[at.way];
    const unsigned me = seat(m, c);
    bool alone = sharers_only(*sharer, me), elsewhere, dirty = false;

    out->stage = STAGE_LLC;
    out->done_ps += m->llc_hit_ps;
    if (!alone && (own || (*tag & LLC_OWNED)) &&
        lower_sharers(m, c->socket, line, *sharer, c, own ? LINE_INVALID : LINE_SHARED)) {
        *tag |= LLC_DIRTY;
        out->stage = STAGE_PEER;
        out->done_ps += m->peer_hit_ps - m->llc_hit_ps;
    }
    elsewhere = ask_other_socket(m, c->socket, line, own, &dirty);
    if (elsewhere && own) {
        out->remote = true;
        out->done_ps += m->remote_ps;
    }
    *tag &= ~(uint32_t)LLC_OWNED;
    if (own || (alone && !elsewhere))
        *tag |= LLC_OWNED;
    *sharer = sharers_add(own ? 0 : *sharer, me);
    return own ? LINE_MODIFIED : alone && !elsewhere ? LINE_EXCLUSIVE : LINE_SHARED;
}

/* Brings a line to one core; returns the state it may hold it in. out->done_ps is the issue time
 * at first and the arrival at last. */
static enum line_state fetch(struct model *m, struct core *c, uint64_t line, bool own,
                             struct answer *out)
{
    struct llc_place at = llc_find(&m->llc[c->socket], line);
    bool dirty, elsewhere;

    m->active[c->socket] = true;
    if (at.way != LLC_NO_WAY)
        return share(m, c, line, at, own, out);
    uint64_t now = out->done_ps;

    elsewhere = ask_other_socket(m, c->socket, line, own, &dirty);
    if (dirty) {
        *out = (struct answer){STAGE_PEER, true, now + m->peer_hit_ps + m->remote_ps};
        if (!own)
            memory_write(&m->memory, now, line, 1 - c->socket);
    } else {
        memory_read(&m->memory, now, line, c->socket, out);
    }
    at.way = llc_victim(at.set);
    make_room(m, c->socket, at.set, at.way, out->done_ps);
    at.set->tag[at.way] = at.tag | (own && dirty ? LLC_DIRTY : 0) |
                          (own || !elsewhere ? LLC_OWNED : 0);
    at.set->sharer[at.way] = sharers_add(0, seat(m, c));
    return own ? LINE_MODIFIED : elsewhere ? LINE_SHARED : LINE_EXCLUSIVE;
}

/* A line that L2 gave up stays in the LLC, dirty if it was. */
static void settle(struct model *m, struct core *c, uint64_t victim, enum line_state was)
{
    if (victim == CORE_NO_LINE)
        return;
    struct llc_place at = llc_find(&m->llc[c->socket], victim);

    if (at.way == LLC_NO_WAY)
        return;
    if (was == LINE_MODIFIED)
        at.set->tag[at.way] |= LLC_DIRTY;
    at.set->sharer[at.way] = sharers_remove(at.set->sharer[at.way], seat(m, c));
    if (at.set->sharer[at.way] == 0)
        at.set->tag[at.way] &= ~(uint32_t)LLC_OWNED;
}

static void count_stage(struct model *m, const struct answer *a)
{
    m->n.llc_hits += a->stage == STAGE_LLC;
    m->n.peer_hits += a->stage == STAGE_PEER;
}

static void prefetch_ahead(struct model *m, struct core *c, uint64_t line, uint64_t now_ps)
{
    enum { PAGE = 64 }; /* lines; hardware does not cross 4 KiB */
    uint64_t depth = (uint64_t)m->profile.prefetch;
    enum line_state gone = LINE_INVALID;

    for (uint64_t next = line + 1; next <= line + depth && next % PAGE != 0; next++) {
        struct answer a = {.done_ps = now_ps};

        if (core_state(c, next) != LINE_INVALID)
            continue;
        enum line_state state = fetch(m, c, next, false, &a);
        uint64_t victim = core_fill_l2(c, next, state, &gone);

        settle(m, c, victim, gone);
        c->prefetches[next % CORE_PREFETCHES] = (struct fill){.line = next, .done_ps = a.done_ps};
        c->fills_latest_ps = later(c->fills_latest_ps, a.done_ps);
        m->n.prefetched_lines++;
    }
    c->trigger = line + (depth + 1) / 2;
}

static void install(struct model *m, struct core *c, uint64_t line, enum line_state state,
                    uint64_t done_ps)
{
    enum line_state gone = LINE_INVALID;
    uint64_t victim = core_fill(c, line, state, &gone);

    settle(m, c, victim, gone);
    c->fills[c->slot] = (struct fill){line, done_ps, c->instructions};
    c->fills_latest_ps = later(c->fills_latest_ps, done_ps);
}

void model_expect(const struct model *m, const struct core *c, uint64_t line)
{
    llc_expect(&m->llc[c->socket], line);
    __builtin_prefetch(tags_set(&c->l2, line), 1);
}

void model_access(struct model *m, struct core *c, uint64_t line, enum access kind)
{
    bool own = kind != ACCESS_LOAD;
    uint64_t now = c->now_ps;
    struct answer a = {.done_ps = now + c->walk_ps};
    enum line_state state = core_state(c, line);

    c->instructions++;
    if (state == LINE_INVALID || (own && state == LINE_SHARED)) {
        const uint64_t victim = core_victim(c, line);

        if (victim != CORE_NO_LINE)
            llc_expect(&m->llc[c->socket], victim); /* settle() looks there */
        state = fetch(m, c, line, own, &a);
        count_stage(m, &a);
    } else {
        a.stage = STAGE_L2; /* a prefetched line that asks for more */
        a.done_ps = later(a.done_ps + c->l2_hit_ps, core_arrival(c, line));
        state = own ? LINE_MODIFIED : state;
        c->hits++;
    }
    install(m, c, line, state, a.done_ps);
    c->answer = a;
    c->now_ps = now + c->event_ps;
    if (kind != ACCESS_STORE)
        c->loads_ps = later(c->loads_ps, a.done_ps);
    if (kind == ACCESS_ATOMIC)
        core_use(c);
    if (m->profile.prefetch && (line == c->trigger || line == c->last_miss + 1))
        prefetch_ahead(m, c, line, now);
    c->last_miss = line;
}

void model_prefetch(struct model *m, struct core *c, uint64_t line)
{
    unsigned first = 0;
    struct answer a = {.done_ps = c->now_ps};

    c->instructions++;
    c->now_ps += c->event_ps;
    for (unsigned i = 1; i < c->fill_count; i++)
        if (c->fills[i].done_ps < c->fills[first].done_ps)
            first = i;
    if (core_state(c, line) != LINE_INVALID || c->fills[first].done_ps > a.done_ps)
        return;
    c->slot = first;
    enum line_state state = fetch(m, c, line, false, &a);

    install(m, c, line, state, a.done_ps);
    m->n.prefetched_lines++;
}

/* Sends one line towards persistence: a write-combining slot, the way there, the acceptance. A
 * core's lines become durable at least persist_gap apart. */
static void persist(struct model *m, struct core *c, uint64_t line, uint64_t ready_ps,
                    uint64_t latency_ps)
{
    uint64_t *slot = &c->persist_ring[c->persist_next];

    c->now_ps = later(c->now_ps, *slot);
    uint64_t start = later(c->now_ps, ready_ps);
    uint64_t done = memory_write(&m->memory, start, line, c->socket) + latency_ps;

    if (c->persists_ps > start) /* others on their way */
        done = later(done, c->persists_ps + m->gap_ps);
    *slot = done;
    c->persist_next = c->persist_next + 1 == c->fill_count ? 0 : c->persist_next + 1;
    c->persists_ps = later(c->persists_ps, done);
    c->now_ps += c->event_ps;
    c->answer = (struct answer){STAGE_WPQ, c->socket != 0 && !(line & LINE_DRAM), done};
}

void model_flush(struct model *m, struct core *c, uint64_t line)
{
    uint64_t arrival = core_arrival(c, line);
    bool dirty = false;

    c->instructions++;
    m->active[c->socket] = true;
    m->n.flush_lines++;
    for (int s = 0; s < m->sockets; s++)
        if (m->active[s] && (m->profile.flush_evicts ? drop(m, s, line)
                                                     : clean(m, s, line, LINE_EXCLUSIVE)))
            dirty = true;
    if (dirty) {
        persist(m, c, line, arrival, m->flush_ps);
        return;
    }
    m->n.flush_clean_lines++;
    c->answer = (struct answer){.done_ps = c->now_ps};
    c->now_ps += c->event_ps;
}

void model_stream(struct model *m, struct core *c, uint64_t line, unsigned bytes)
{
    c->instructions++;
    m->active[c->socket] = true;
    m->n.stream_lines++;
    if (drop_everywhere(m, line) && bytes < 64)
        memory_write(&m->memory, c->now_ps, line, c->socket);
    persist(m, c, line, 0, m->stream_ps);
}

void model_fence(struct model *m, struct core *c)
{
    m->n.fences++;
    c->instructions++;
    c->now_ps += c->event_ps;
    /* Durable caches: a store is durable when it is visible, so there is nothing to wait for. */
    if (!m->profile.cache_durable)
        c->now_ps = later(c->now_ps, c->persists_ps);
}

uint64_t model_device_access(struct model *m, uint64_t now_ps, uint64_t line, bool write)
{
    struct answer a;

    if (write)
        return memory_write(&m->memory, now_ps, line, 0) + m->stream_ps;
    memory_read(&m->memory, now_ps, line, 0, &a);
    return a.done_ps;
}

static void drain_caches(struct model *m, int socket, uint64_t now_ps)
{
    struct llc *l = &m->llc[socket];

    for (uint64_t s = 0; s < l->sets; s++)
        for (int w = 0; w < LLC_WAYS; w++) {
            struct llc_set *set = &l->set[s];

            if (set->tag[w] == 0)
                continue;
            uint64_t line = llc_line(l, set, w);

            if (clean(m, socket, line, LINE_EXCLUSIVE))
                memory_write(&m->memory, now_ps, line, socket);
        }
}

uint64_t model_drain(struct model *m)
{
    uint64_t quiet = 0;
    int cores = m->sockets * m->cores;

    for (int i = 0; i < cores; i++) {
        const struct core *c = &m->core[i];

        quiet = later(quiet, later(c->now_ps, later(c->loads_ps, c->persists_ps)));
        quiet = later(quiet, c->fills_latest_ps);
    }
    for (int s = 0; s < m->sockets; s++)
        if (m->active[s])
            drain_caches(m, s, quiet);
    quiet = memory_drain(&m->memory, quiet);
    for (int i = 0; i < cores; i++)
        m->core[i].now_ps = m->core[i].loads_ps = m->core[i].persists_ps = quiet;
    return quiet;
}

void model_counters(const struct model *m, struct model_counters *out)
{
    *out = m->n;
    for (int i = 0; i < m->sockets * m->cores; i++) {
        out->private_hits += m->core[i].hits;
        out->tlb_misses += m->core[i].tlb_misses;
    }
    out->imc_read_bytes = m->memory.pm_reads * 64;
    out->imc_write_bytes = m->memory.pm_writes * 64;
    for (int s = 0; s < SOCKETS_MAX; s++) {
        out->dram_read_bytes += m->memory.dram[s].reads * 64;
        out->dram_write_bytes += m->memory.dram[s].writes * 64;
    }
    if (!m->memory.media) { /* 64-byte media: nothing is amplified */
        out->dram_read_bytes -= out->media_read_bytes = out->imc_read_bytes;
        out->dram_write_bytes -= out->media_write_bytes = out->imc_write_bytes;
        return;
    }
    for (unsigned d = 0; d < m->memory.dimms; d++) {
        const struct media *media = &m->memory.dimm[d].media;

        out->media_read_bytes += media->reads * 256;
        out->media_write_bytes += media->writes * 256;
        out->media_busy_ps += media->busy_ps;
        out->wear_moves += media->moves;
    }
}

int model_xpline_bytes(const struct model *m, uint64_t line)
{
    uint64_t local;

    if (!m->memory.media || (line & LINE_DRAM))
        return -1;
    const struct xpbuffer *b = &m->memory.dimm[memory_route(&m->memory, line, &local)].xpbuffer;
    unsigned slot = xpbuffer_find(b, local >> 2);

    return slot == SLOTS_NONE ? -1 : __builtin_popcount(b->fresh[slot]) * 64;
}

/* A range that the tables need. */
static int check(const char *name, int64_t value, int64_t least, int64_t most, char *why,
                 size_t why_size)
{
    if (value >= least && value <= most)
        return 0;
    snprintf(why, why_size, "key %s: %lld is not between %lld and %lld; choose one that is", name,
             (long long)value, (long long)least, (long long)most);
    return -EINVAL;
}

static int check_profile(const struct profile *p, char *why, size_t n)
{
    if (check("sockets", p->sockets, 1, SOCKETS_MAX, why, n) ||
        check("cores", p->cores, 1, 64, why, n) ||
        check("dimms", p->dimms, 1, DIMMS_MAX, why, n) ||
        check("l1_ways", p->l1_ways, 1, 64, why, n) ||
        check("l2_ways", p->l2_ways, 1, 64, why, n) ||
        check("l1_size", p->l1_size, p->l1_ways * 4, 1 << 20, why, n) ||
        check("l2_size", p->l2_size, p->l2_ways * 4, 1 << 20, why, n) ||
        check("llc_size", p->llc_size, 64, 1 << 24, why, n) ||
        check("peer_hit", p->peer_hit, p->llc_hit, INT64_MAX, why, n) ||
        check("tlb_entries", p->tlb_entries, TLB_WAYS, 1 << 20, why, n) ||
        check("line_fills", p->line_fills, 1, CORE_FILLS_MAX, why, n) ||
        check("prefetch", p->prefetch, 0, CORE_PREFETCHES / 2, why, n) ||
        check("interleave", p->interleave, 256, 1 << 30, why, n) ||
        check("interleave (a multiple of 256)", p->interleave % 256, 0, 0, why, n) ||
        check("wpq", p->wpq, 1, CHANNEL_WPQ_MAX, why, n) ||
        check("read_buffer", p->read_buffer, 0, SLOTS_MAX, why, n) ||
        check("xpbuffer", p->xpbuffer, 1, SLOTS_MAX, why, n) ||
        check("xpbuffer_draws", p->xpbuffer_draws, 1, 64, why, n) ||
        check("background", p->background, 0, 1000000, why, n) ||
        check("ait_ways", p->ait_ways, 1, 64, why, n) ||
        check("ait_entries", p->ait_entries, p->ait_ways, 1 << 24, why, n))
        return -EINVAL;
    return 0;
}

static int build(struct model *m, uint64_t pm_bytes, uint64_t seed)
{
    const struct profile *p = &m->profile;
    int rc = 0, count = m->sockets * m->cores;

    m->core = calloc((size_t)count, sizeof *m->core);
    if (!m->core)
        return -ENOMEM;
    m->host_bytes = sizeof *m + (size_t)count * sizeof *m->core;
    for (int i = 0; rc == 0 && i < count; i++) {
        rc = core_create(&m->core[i], p, i, i / m->cores);
        if (rc == 0)
            m->host_bytes += core_host_bytes(&m->core[i]);
    }
    for (int s = 0; rc == 0 && s < m->sockets; s++) {
        rc = llc_create(&m->llc[s], p, seed + (uint64_t)s);
        m->host_bytes += m->llc[s].sets * sizeof(struct llc_set);
    }
    if (rc == 0)
        rc = memory_create(&m->memory, p, pm_bytes, seed);
    for (unsigned d = 0; rc == 0 && m->memory.media && d < m->memory.dimms; d++)
        m->host_bytes += m->memory.dimm[d].media.wear_blocks * 4 + (uint64_t)p->ait_entries * 4;
    return rc;
}

int model_create(struct model **out, const struct profile *profile, uint64_t pm_bytes,
                 uint64_t seed, char *why, size_t why_size)
{
    if (check_profile(profile, why, why_size))
        return -EINVAL;
    if (check("capacity in lines", (int64_t)(pm_bytes / 64), 1, LINE_DRAM, why, why_size))
        return -EINVAL;
    struct model *m = calloc(1, sizeof *m);

    if (!m)
        return -ENOMEM;
    m->profile = *profile;
    m->sockets = (int)profile->sockets;
    m->cores = (int)profile->cores;
    m->llc_hit_ps = (uint64_t)profile->llc_hit;
    m->peer_hit_ps = (uint64_t)profile->peer_hit;
    m->flush_ps = (uint64_t)profile->flush_latency;
    m->stream_ps = (uint64_t)profile->stream_latency;
    m->gap_ps = (uint64_t)profile->persist_gap;
    m->remote_ps = (uint64_t)profile->remote_read;
    int rc = build(m, pm_bytes, seed);

    if (rc) {
        snprintf(why, why_size, "no host memory for the model; use a smaller profile");
        model_destroy(m);
        return rc;
    }
    *out = m;
    return 0;
}

void model_destroy(struct model *m)
{
    if (!m)
        return;
    for (int i = 0; m->core && i < m->sockets * m->cores; i++)
        core_destroy(&m->core[i]);
    for (int s = 0; s < m->sockets; s++)
        llc_destroy(&m->llc[s]);
    memory_destroy(&m->memory);
    free(m->core);
    free(m);
}

const struct profile *model_profile(const struct model *m)
{
    return &m->profile;
}

struct core *model_core(struct model *m, int core)
{
    return &m->core[core];
}

uint64_t model_host_bytes(const struct model *m)
{
    return m->host_bytes;
}
