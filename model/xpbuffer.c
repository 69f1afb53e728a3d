/* xpbuffer.c -- see xpbuffer.h. */
#include "model/xpbuffer.h"

enum { FULL = 15 };

void xpbuffer_init(struct xpbuffer *b, const struct profile *p, uint64_t seed)
{
    *b = (struct xpbuffer){
        .lines = (unsigned)p->xpbuffer,
        .random = seed * 2 + 1,
        .draws = (unsigned)p->xpbuffer_draws,
    };
    slots_clear(&b->index);
}

/* splitmix64's output function over a Weyl sequence. */
static uint32_t draw(struct xpbuffer *b, uint32_t bound)
{
    uint64_t z = b->random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (uint32_t)(((z >> 32) * bound) >> 32);
}

/* A random entry; an entry with nothing to write is passed over while draws are left. */
static unsigned choose_victim(struct xpbuffer *b)
{
    unsigned victim = draw(b, b->lines);

    for (unsigned i = 1; i < b->draws && b->fresh[victim] == 0; i++)
        victim = draw(b, b->lines);
    return victim;
}

/* Sends the fresh blocks of an entry to the media; returns when the media begins, which is when
 * the entry's place is free. */
static uint64_t write_out(struct xpbuffer *b, struct media *m, uint64_t now_ps, unsigned slot)
{
    if (b->fresh[slot] == 0)
        return now_ps;
    if (b->fresh[slot] != FULL)
        m->reads++;
    b->fresh[slot] = 0;
    uint64_t done = media_write(m, now_ps, b->index.key[slot]);

    return done - m->write_ps;
}

uint64_t xpbuffer_write(struct xpbuffer *b, struct media *m, uint64_t now_ps, uint64_t line)
{
    unsigned slot = slots_find(&b->index, line >> 2);

    if (slot == SLOTS_NONE) {
        if (b->used < b->lines) {
            slot = b->used++;
        } else {
            slot = choose_victim(b);
            now_ps = write_out(b, m, now_ps, slot);
            slots_remove(&b->index, slot);
        }
        slots_put(&b->index, slot, line >> 2);
        media_expect(m, line >> 2);
        b->fresh[slot] = b->whole[slot] = 0;
    }
    b->fresh[slot] |= (uint8_t)(1u << (line & 3));
    if (b->fresh[slot] != FULL)
        return now_ps;
    b->whole[slot] = 1;
    return write_out(b, m, now_ps, slot);
}

unsigned xpbuffer_find(const struct xpbuffer *b, uint64_t xpline)
{
    return slots_find(&b->index, xpline);
}

uint64_t xpbuffer_drain(struct xpbuffer *b, struct media *m, uint64_t now_ps)
{
    for (unsigned slot = 0; slot < b->used; slot++)
        write_out(b, m, now_ps, slot);
    return m->free_ps > now_ps ? m->free_ps : now_ps;
}
