/* slots.c -- see slots.h. Fibonacci hashing; chains stay about one long. */
#include "model/slots.h"

#include <string.h>

static unsigned head_of(uint64_t key)
{
    return (unsigned)((key * 0x9e3779b97f4a7c15ull) >> 56);
}

void slots_clear(struct slots *s)
{
    memset(s->head, SLOTS_NONE, sizeof s->head);
}

unsigned slots_find(const struct slots *s, uint64_t key)
{
    unsigned slot = s->head[head_of(key)];

    while (slot != SLOTS_NONE && s->key[slot] != key)
        slot = s->next[slot];
    return slot;
}

void slots_put(struct slots *s, unsigned slot, uint64_t key)
{
    uint8_t *head = &s->head[head_of(key)];

    s->key[slot] = key;
    s->next[slot] = *head;
    *head = (uint8_t)slot;
}

void slots_remove(struct slots *s, unsigned slot)
{
    uint8_t *link = &s->head[head_of(s->key[slot])];

    while (*link != slot)
        link = &s->next[*link];
    *link = s->next[slot];
}
