/* core.c -- see core.h: the private caches' slow path, fills, and their creation.
 *
 *     L1 miss --> TLB --> L2 --> (no: the caller asks the model)
 *
 * L2 includes L1: what leaves L2 leaves L1, and carries L1's dirtiness with it.
 */
#include "model/core.h"

#include <errno.h>
#include <stdlib.h>

const char *stage_name(enum stage stage)
{
    static const char *const names[STAGES] = {
        [STAGE_NONE] = "none",
        [STAGE_L1] = "L1",
        [STAGE_L2] = "L2",
        [STAGE_LLC] = "LLC",
        [STAGE_PEER] = "peer cache",
        [STAGE_DRAM] = "DRAM",
        [STAGE_READ_BUFFER] = "read buffer",
        [STAGE_XPBUFFER] = "XPBuffer",
        [STAGE_AIT] = "AIT",
        [STAGE_MEDIA] = "media",
        [STAGE_WPQ] = "WPQ",
    };

    return names[stage];
}

static int tags_create(struct tags *t, uint64_t sets, unsigned ways)
{
    t->ways = ways;
    t->shift = 0;
    while ((1ull << (t->shift + 1)) <= sets)
        t->shift++;
    t->mask = (1ull << t->shift) - 1;
    t->tag = calloc((t->mask + 1) * ways, sizeof *t->tag);
    return t->tag ? 0 : -ENOMEM;
}

static uint64_t tags_bytes(const struct tags *t)
{
    return (t->mask + 1) * t->ways * sizeof *t->tag;
}

int core_create(struct core *c, const struct profile *p, int id, int socket)
{
    *c = (struct core){
        .id = id,
        .socket = socket,
        .event_ps = (uint64_t)p->event,
        .cycle_ps = (uint64_t)p->cycle,
        .l1_hit_ps = (uint64_t)p->l1_hit,
        .l2_hit_ps = (uint64_t)p->l2_hit,
        .tlb_miss_ps = (uint64_t)p->tlb_miss,
        .window = (uint64_t)p->window,
        .fill_count = (unsigned)p->line_fills,
        .trigger = CORE_NO_LINE,
        .last_miss = CORE_NO_LINE,
    };
    for (unsigned i = 0; i < CORE_FILLS_MAX; i++)
        c->fills[i].line = CORE_NO_LINE;
    for (unsigned i = 0; i < CORE_PREFETCHES; i++)
        c->prefetches[i].line = CORE_NO_LINE;
    if (tags_create(&c->l1, (uint64_t)(p->l1_size * 16 / p->l1_ways), (unsigned)p->l1_ways) ||
        tags_create(&c->l2, (uint64_t)(p->l2_size * 16 / p->l2_ways), (unsigned)p->l2_ways) ||
        tags_create(&c->tlb, (uint64_t)(p->tlb_entries / TLB_WAYS), TLB_WAYS))
        return -ENOMEM;
    return 0;
}

void core_destroy(struct core *c)
{
    free(c->l1.tag);
    free(c->l2.tag);
    free(c->tlb.tag);
}

uint64_t core_host_bytes(const struct core *c)
{
    return tags_bytes(&c->l1) + tags_bytes(&c->l2) + tags_bytes(&c->tlb);
}

/* Puts a line first in its set; the tag that fell out, or 0. */
static uint32_t tags_insert(struct tags *t, uint64_t line, enum line_state state)
{
    uint32_t *set = tags_set(t, line);
    int last = (int)t->ways - 1;
    uint32_t gone = set[last];

    for (int w = 0; w < last; w++)
        if ((set[w] & 3) == LINE_INVALID) {
            gone = 0;
            last = w;
        }
    set[last] = (uint32_t)(line >> t->shift) << 2 | state;
    tags_touch(set, last);
    return (gone & 3) == LINE_INVALID ? 0 : gone;
}

static uint64_t tags_line(const struct tags *t, uint64_t neighbour, uint32_t tag)
{
    return (uint64_t)(tag >> 2) << t->shift | (neighbour & t->mask);
}

uint64_t core_victim(const struct core *c, uint64_t line)
{
    uint32_t last = tags_set(&c->l2, line)[c->l2.ways - 1];

    return (last & 3) == LINE_INVALID ? CORE_NO_LINE : tags_line(&c->l2, line, last);
}

/* What falls out of L1 is still in L2, which must learn that it is dirty. */
static void fill_l1(struct core *c, uint64_t line, enum line_state state)
{
    uint32_t gone = tags_insert(&c->l1, line, state);

    if ((gone & 3) != LINE_MODIFIED)
        return;
    uint64_t victim = tags_line(&c->l1, line, gone);
    int way = tags_find(&c->l2, victim);

    if (way >= 0)
        tags_set(&c->l2, victim)[way] |= LINE_MODIFIED;
}

static void look_up_page(struct core *c, uint64_t line)
{
    uint64_t page = line >> 15; /* 2 MiB */
    int way = tags_find(&c->tlb, page);

    c->walk_ps = 0;
    if (way >= 0) {
        tags_touch(tags_set(&c->tlb, page), way);
        return;
    }
    tags_insert(&c->tlb, page, LINE_SHARED);
    c->walk_ps = c->tlb_miss_ps;
    c->tlb_misses++;
}

bool core_try_l2(struct core *c, uint64_t line, enum access kind)
{
    look_up_page(c, line);
    int way = tags_find(&c->l2, line);

    if (way < 0 || line == c->trigger)
        return false;
    uint32_t *set = tags_set(&c->l2, line);
    enum line_state state = set[way] & 3;

    if (kind != ACCESS_LOAD) {
        if (state < LINE_EXCLUSIVE)
            return false;
        state = LINE_MODIFIED;
    }
    tags_touch(set, way);
    fill_l1(c, line, state);
    core_hit(c, line, kind, STAGE_L2, c->l2_hit_ps + c->walk_ps);
    return true;
}

enum line_state core_state(const struct core *c, uint64_t line)
{
    int l2 = tags_find(&c->l2, line);

    if (l2 < 0)
        return LINE_INVALID; /* L2 includes L1 */
    int l1 = tags_find(&c->l1, line);
    enum line_state state = tags_set(&c->l2, line)[l2] & 3;

    if (l1 >= 0 && (tags_set(&c->l1, line)[l1] & 3) > state)
        state = tags_set(&c->l1, line)[l1] & 3;
    return state;
}

static enum line_state lower(struct tags *t, uint64_t line, enum line_state state)
{
    int way = tags_find(t, line);

    if (way < 0)
        return LINE_INVALID;
    uint32_t *tag = &tags_set(t, line)[way];
    enum line_state was = *tag & 3;

    if (was > state)
        *tag = (*tag & ~3u) | state;
    return was;
}

enum line_state core_lower(struct core *c, uint64_t line, enum line_state state)
{
    enum line_state l2 = lower(&c->l2, line, state);

    if (l2 == LINE_INVALID)
        return LINE_INVALID; /* L2 includes L1 */
    enum line_state l1 = lower(&c->l1, line, state);

    return l1 > l2 ? l1 : l2;
}

/* Raises a line that is in the set already, or inserts it. */
static uint32_t put(struct tags *t, uint64_t line, enum line_state state)
{
    int way = tags_find(t, line);

    if (way < 0)
        return tags_insert(t, line, state);
    uint32_t *set = tags_set(t, line);

    set[way] |= state;
    tags_touch(set, way);
    return 0;
}

uint64_t core_fill_l2(struct core *c, uint64_t line, enum line_state state, enum line_state *gone)
{
    uint32_t tag = put(&c->l2, line, state);

    if (tag == 0)
        return CORE_NO_LINE;
    uint64_t victim = tags_line(&c->l2, line, tag);
    enum line_state above = lower(&c->l1, victim, LINE_INVALID);

    *gone = above > (tag & 3) ? above : (enum line_state)(tag & 3);
    return victim;
}

uint64_t core_fill(struct core *c, uint64_t line, enum line_state state, enum line_state *gone)
{
    uint64_t victim = core_fill_l2(c, line, state, gone);
    int way = tags_find(&c->l1, line);

    if (way < 0) {
        fill_l1(c, line, state);
    } else {
        tags_set(&c->l1, line)[way] |= state;
        tags_touch(tags_set(&c->l1, line), way);
    }
    return victim;
}

uint64_t core_arrival(const struct core *c, uint64_t line)
{
    const struct fill *ahead = &c->prefetches[line % CORE_PREFETCHES];
    uint64_t arrival = ahead->line == line ? ahead->done_ps : 0;

    for (unsigned i = 0; i < c->fill_count; i++)
        if (c->fills[i].line == line && c->fills[i].done_ps > arrival)
            arrival = c->fills[i].done_ps;
    return arrival;
}

void core_reserve(struct core *c, enum access kind)
{
    uint64_t now = c->now_ps;
    unsigned first = 0;

    /* An atomic is ordered: the loads before it come first. */
    if (kind == ACCESS_ATOMIC && c->loads_ps > now)
        now = c->loads_ps;
    for (unsigned i = 0; i < c->fill_count; i++) {
        const struct fill *f = &c->fills[i];

        if (f->done_ps > now && f->instruction + c->window < c->instructions)
            now = f->done_ps;
        if (f->done_ps < c->fills[first].done_ps)
            first = i;
    }
    if (c->fills[first].done_ps > now)
        now = c->fills[first].done_ps;
    c->slot = first;
    c->now_ps = now;
}
