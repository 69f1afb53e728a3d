/* channel.c -- see channel.h. */
#include "model/channel.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void channel_init(struct channel *c, const struct profile *p, struct dimm *dimm)
{
    *c = (struct channel){
        .dimm = dimm,
        .link_ps = (uint64_t)p->link,
        .hazard_ps = (uint64_t)p->hazard,
        .wpq_count = (unsigned)p->wpq,
    };
}

static unsigned hazard_slot(uint64_t line)
{
    return line % CHANNEL_HAZARDS;
}

static uint64_t after_hazard(const struct channel *c, uint64_t now_ps, uint64_t line)
{
    unsigned h = hazard_slot(line);

    return c->hazard_line[h] == line ? later(now_ps, c->hazard_until_ps[h]) : now_ps;
}

static uint64_t cross_link(struct channel *c, uint64_t now_ps)
{
    uint64_t start = later(now_ps, c->link_free_ps);

    c->link_free_ps = start + c->link_ps;
    return start;
}

uint64_t channel_read(struct channel *c, uint64_t now_ps, uint64_t line, enum stage *stage)
{
    c->reads++;
    /* The link's transfer is part of the end-to-end latency; only waiting for it adds. */
    return dimm_read(c->dimm, cross_link(c, after_hazard(c, now_ps, line)), line, stage);
}

uint64_t channel_write(struct channel *c, uint64_t now_ps, uint64_t line)
{
    unsigned h = hazard_slot(line);
    uint64_t accepted = later(after_hazard(c, now_ps, line), c->wpq[c->wpq_next]);
    /* Writes leave in order, behind their own queue: the wait there must not hold up reads. */
    uint64_t sent = later(accepted, c->wpq_last_ps) + c->link_ps;
    uint64_t taken = dimm_write(c->dimm, sent, line);

    c->writes++;
    c->wpq_last_ps = taken;
    c->wpq[c->wpq_next] = taken;
    c->wpq_next = c->wpq_next + 1 == c->wpq_count ? 0 : c->wpq_next + 1;
    c->hazard_line[h] = line;
    c->hazard_until_ps[h] = accepted + c->hazard_ps;
    return accepted;
}

uint64_t channel_quiet(const struct channel *c, uint64_t now_ps)
{
    return later(now_ps, c->wpq_last_ps);
}
