/* media.c -- see media.h. */
#include "model/media.h"

#include <errno.h>
#include <stdlib.h>

int media_create(struct media *m, const struct profile *p, uint64_t bytes)
{
    *m = (struct media){
        .read_ps = (uint64_t)p->media_read,
        .write_ps = (uint64_t)p->media_write,
        .stall_ps = (uint64_t)p->wear_stall,
        .window_ps = (uint64_t)p->wear_window,
        .background_ppm = (uint64_t)p->background,
        .threshold = (uint32_t)p->wear_threshold,
        .wear_blocks = bytes / 4096 + 1,
        .hot_block = UINT64_MAX,
    };
    m->wear = calloc(m->wear_blocks, sizeof *m->wear);
    return m->wear ? 0 : -ENOMEM;
}

void media_destroy(struct media *m)
{
    free(m->wear);
}

static uint64_t serve(struct media *m, uint64_t now_ps, uint64_t occupancy_ps)
{
    uint64_t start = now_ps > m->free_ps ? now_ps : m->free_ps;

    m->free_ps = start + occupancy_ps;
    m->busy_ps += occupancy_ps;
    return m->free_ps;
}

uint64_t media_read(struct media *m, uint64_t now_ps)
{
    m->reads++;
    return serve(m, now_ps, m->read_ps);
}

/* The writes that count are those that come close together; a cold gap starts a new count. Only
 * the block written last is known to be hot, which is the case that was measured. */
static uint64_t wear(struct media *m, uint64_t now_ps, uint64_t block)
{
    uint32_t *worn = &m->wear[block % m->wear_blocks];

    if (block == m->hot_block && now_ps > m->hot_ps + m->window_ps)
        *worn = 0;
    m->hot_block = block;
    m->hot_ps = now_ps;
    if (m->threshold == 0 || ++*worn < m->threshold)
        return 0;
    *worn = 0;
    m->moves++;
    return m->stall_ps;
}

uint64_t media_write(struct media *m, uint64_t now_ps, uint64_t xpline)
{
    m->writes++;
    m->background_sum += m->background_ppm;
    if (m->background_sum >= 1000000) {
        m->background_sum -= 1000000;
        m->writes++;
    }
    return serve(m, now_ps, m->write_ps + wear(m, now_ps, xpline / 16));
}
