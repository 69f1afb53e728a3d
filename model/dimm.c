/* dimm.c -- see dimm.h. */
#include "model/dimm.h"

int dimm_create(struct dimm *d, const struct profile *p, uint64_t bytes, uint64_t seed)
{
    xpbuffer_init(&d->xpbuffer, p, seed);
    read_buffer_init(&d->read_buffer, (unsigned)p->read_buffer);
    d->hit_ps = (uint64_t)p->read_buffer_hit;
    d->ait_hit_ps = (uint64_t)p->ait_hit;
    d->ait_miss_ps = (uint64_t)p->ait_miss;
    int rc = ait_create(&d->ait, p);

    return rc ? rc : media_create(&d->media, p, bytes);
}

void dimm_destroy(struct dimm *d)
{
    ait_destroy(&d->ait);
    media_destroy(&d->media);
}

uint64_t dimm_read(struct dimm *d, uint64_t now_ps, uint64_t line, enum stage *stage)
{
    unsigned slot = xpbuffer_find(&d->xpbuffer, line >> 2);
    uint64_t ready;

    if (slot != SLOTS_NONE) {
        *stage = STAGE_XPBUFFER;
        if (d->xpbuffer.whole[slot] || (d->xpbuffer.fresh[slot] >> (line & 3) & 1))
            return now_ps + d->hit_ps;
    }
    if (read_buffer_take(&d->read_buffer, line, &ready)) {
        *stage = STAGE_READ_BUFFER;
        return ready > now_ps + d->hit_ps ? ready : now_ps + d->hit_ps;
    }
    uint64_t served = media_read(&d->media, now_ps);
    bool known = ait_lookup(&d->ait, line >> 6);
    uint64_t waited = served - d->media.read_ps - now_ps;
    uint64_t done = now_ps + waited + (known ? d->ait_hit_ps : d->ait_miss_ps);

    *stage = known ? STAGE_AIT : STAGE_MEDIA;
    read_buffer_fill(&d->read_buffer, line, done);
    return done;
}

uint64_t dimm_write(struct dimm *d, uint64_t now_ps, uint64_t line)
{
    read_buffer_drop(&d->read_buffer, line);
    ait_lookup(&d->ait, line >> 6);
    return xpbuffer_write(&d->xpbuffer, &d->media, now_ps, line);
}
