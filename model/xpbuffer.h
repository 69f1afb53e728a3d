/* xpbuffer.h -- the write-combining buffer of one DIMM: 64 XPLines of 4 blocks each.
 *
 *     write 64 B --> entry (a bit per fresh block)
 *         all four fresh  --> media write at once, the entry stays, clean
 *         buffer full     --> a random victim: clean: nothing; partial: media read + media write
 *
 * The media read that completes a partial victim is counted and takes no server time: partial and
 * full lines were measured equally fast.
 *
 * Source: FAST'20 section 5.1 (two-pass test), EuroSys'22 section 3.3 (eager write of full lines).
 * `draws`: 1 is a uniformly random victim, as both papers say; but that merges too much between
 * 20 and 40 KiB. Passing over clean entries, up to this many draws, meets the two-pass curve
 * (fitted).
 * Threads: one caller at a time.
 */
#ifndef MODEL_XPBUFFER_H
#define MODEL_XPBUFFER_H

#include <stdint.h>

#include "model/media.h"
#include "model/slots.h"

struct xpbuffer {
    struct slots index;
    uint8_t fresh[SLOTS_MAX]; /* blocks that the media does not have yet */
    uint8_t whole[SLOTS_MAX]; /* all four blocks are here: the entry has been full once */
    unsigned lines, used, draws;
    uint64_t random;
};

void xpbuffer_init(struct xpbuffer *b, const struct profile *p, uint64_t seed);

/* A 64 B write arrives; returns when the buffer has taken it (later if the media must take a
 * line first). */
uint64_t xpbuffer_write(struct xpbuffer *b, struct media *m, uint64_t now_ps, uint64_t line);

/* Slot of an XPLine or SLOTS_NONE. */
unsigned xpbuffer_find(const struct xpbuffer *b, uint64_t xpline);

/* Writes everything out; entries stay, clean. Returns when the last is written. */
uint64_t xpbuffer_drain(struct xpbuffer *b, struct media *m, uint64_t now_ps);

#endif
