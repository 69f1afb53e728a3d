/* read_buffer.c -- see read_buffer.h. */
#include "model/read_buffer.h"

void read_buffer_init(struct read_buffer *b, unsigned lines)
{
    *b = (struct read_buffer){.lines = lines};
    slots_clear(&b->index);
}

/* Takes one block out; its slot or SLOTS_NONE if the block is not here. */
static unsigned take(struct read_buffer *b, uint64_t line)
{
    unsigned slot = slots_find(&b->index, line >> 2);
    uint8_t bit = (uint8_t)(1u << (line & 3));

    if (slot == SLOTS_NONE || !(b->left[slot] & bit))
        return SLOTS_NONE;
    b->left[slot] &= (uint8_t)~bit;
    if (b->left[slot] == 0)
        slots_remove(&b->index, slot);
    return slot;
}

bool read_buffer_take(struct read_buffer *b, uint64_t line, uint64_t *ready_ps)
{
    unsigned slot = take(b, line);

    if (slot == SLOTS_NONE)
        return false;
    *ready_ps = b->ready_ps[slot];
    return true;
}

void read_buffer_fill(struct read_buffer *b, uint64_t line, uint64_t ready_ps)
{
    unsigned slot = slots_find(&b->index, line >> 2);

    if (b->lines == 0)
        return;
    if (slot == SLOTS_NONE) {
        slot = b->next;
        b->next = slot + 1 == b->lines ? 0 : slot + 1;
        if (b->left[slot])
            slots_remove(&b->index, slot);
        slots_put(&b->index, slot, line >> 2);
    }
    b->left[slot] = (uint8_t)(15u & ~(1u << (line & 3)));
    b->ready_ps[slot] = ready_ps;
}

void read_buffer_drop(struct read_buffer *b, uint64_t line)
{
    take(b, line);
}
