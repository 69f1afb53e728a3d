/* memory.c -- see memory.h. */
#include "model/memory.h"

#include "model/model.h"

int memory_create(struct memory *m, const struct profile *p, uint64_t pm_bytes, uint64_t seed)
{
    *m = (struct memory){
        .upi_ps = (uint64_t)p->upi,
        .remote_read_ps = (uint64_t)p->remote_read,
        .remote_write_ps = (uint64_t)p->remote_write,
        .stripe = (uint64_t)p->interleave / 64,
        .dimms = (uint64_t)p->dimms,
        .media = p->media != 0,
    };
    for (int s = 0; s < SOCKETS_MAX; s++)
        dram_init(&m->dram[s], p);
    for (unsigned d = 0; m->media && d < m->dimms; d++) {
        uint64_t share = pm_bytes / m->dimms + (uint64_t)p->interleave;
        int rc = dimm_create(&m->dimm[d], p, share, seed * DIMMS_MAX + d);

        if (rc)
            return rc;
        channel_init(&m->channel[d], p, &m->dimm[d]);
    }
    return 0;
}

void memory_destroy(struct memory *m)
{
    for (unsigned d = 0; d < m->dimms; d++)
        dimm_destroy(&m->dimm[d]);
}

unsigned memory_route(const struct memory *m, uint64_t line, uint64_t *local)
{
    if (m->dimms == 1) {
        *local = line;
        return 0;
    }
    uint64_t stripe = line / m->stripe;

    *local = stripe / m->dimms * m->stripe + line % m->stripe;
    return (unsigned)(stripe % m->dimms);
}

static uint64_t cross_sockets(struct memory *m, uint64_t now_ps)
{
    uint64_t start = now_ps > m->upi_free_ps ? now_ps : m->upi_free_ps;

    m->upi_free_ps = start + m->upi_ps;
    return start;
}

void memory_read(struct memory *m, uint64_t now_ps, uint64_t line, int socket, struct answer *out)
{
    uint64_t local;

    out->remote = false;
    out->stage = STAGE_DRAM;
    if (line & LINE_DRAM) {
        out->done_ps = dram_read(&m->dram[socket], now_ps);
        return;
    }
    m->pm_reads++;
    if (socket != 0) {
        out->remote = true;
        now_ps = cross_sockets(m, now_ps) + m->remote_read_ps;
    }
    if (!m->media) {
        out->done_ps = dram_read(&m->dram[0], now_ps);
        return;
    }
    unsigned d = memory_route(m, line, &local);

    out->done_ps = channel_read(&m->channel[d], now_ps, local, &out->stage);
}

uint64_t memory_write(struct memory *m, uint64_t now_ps, uint64_t line, int socket)
{
    uint64_t local;

    if (line & LINE_DRAM)
        return dram_write(&m->dram[socket], now_ps);
    m->pm_writes++;
    if (socket != 0)
        now_ps = cross_sockets(m, now_ps) + m->remote_write_ps;
    if (!m->media)
        return dram_write(&m->dram[0], now_ps);
    unsigned d = memory_route(m, line, &local);

    return channel_write(&m->channel[d], now_ps, local);
}

uint64_t memory_drain(struct memory *m, uint64_t now_ps)
{
    uint64_t quiet = now_ps;

    for (int s = 0; s < SOCKETS_MAX; s++)
        if (m->dram[s].free_ps > quiet)
            quiet = m->dram[s].free_ps;
    for (unsigned d = 0; m->media && d < m->dimms; d++) {
        uint64_t sent = channel_quiet(&m->channel[d], now_ps);
        uint64_t done = xpbuffer_drain(&m->dimm[d].xpbuffer, &m->dimm[d].media, sent);

        if (done > quiet)
            quiet = done;
    }
    return quiet;
}
