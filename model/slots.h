/* slots.h -- find one of up to 255 numbered slots by the XPLine it holds, in O(1).
 *
 *     hash(xpline) --> head[] --> slot --> next[slot] --> ..
 *
 * The index under the XPBuffer and the read buffer. Threads: one caller at a time.
 */
#ifndef MODEL_SLOTS_H
#define MODEL_SLOTS_H

#include <stdint.h>

enum { SLOTS_MAX = 255, SLOTS_NONE = 255, SLOTS_HEADS = 256 };

struct slots {
    uint64_t key[SLOTS_MAX];
    uint8_t next[SLOTS_MAX], head[SLOTS_HEADS];
};

void slots_clear(struct slots *s);
unsigned slots_find(const struct slots *s, uint64_t key); /* or SLOTS_NONE */
void slots_put(struct slots *s, unsigned slot, uint64_t key);
void slots_remove(struct slots *s, unsigned slot);

#endif
