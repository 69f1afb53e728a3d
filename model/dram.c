/* dram.c -- see dram.h. */
#include "model/dram.h"

void dram_init(struct dram *d, const struct profile *p)
{
    *d = (struct dram){
        .latency_ps = (uint64_t)p->dram_latency,
        .read_ps = (uint64_t)p->dram_read,
        .write_ps = (uint64_t)p->dram_write,
    };
}

static uint64_t serve(struct dram *d, uint64_t now_ps, uint64_t occupancy_ps)
{
    uint64_t start = now_ps > d->free_ps ? now_ps : d->free_ps;

    d->free_ps = start + occupancy_ps;
    return start;
}

uint64_t dram_read(struct dram *d, uint64_t now_ps)
{
    d->reads++;
    return serve(d, now_ps, d->read_ps) + d->latency_ps;
}

uint64_t dram_write(struct dram *d, uint64_t now_ps)
{
    d->writes++;
    return serve(d, now_ps, d->write_ps);
}
