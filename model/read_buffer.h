/* read_buffer.h -- XPLines read from the media, kept for the rest of their 64 B blocks.
 *
 *     fill --> [ FIFO of 64 XPLines, a bit per block still to serve ] --> each block once
 *
 * Source: EuroSys'22 section 3.2: 16 KiB, FIFO, exclusive: a block leaves when it is served.
 * Threads: one caller at a time.
 */
#ifndef MODEL_READ_BUFFER_H
#define MODEL_READ_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/slots.h"

struct read_buffer {
    struct slots index;
    uint64_t ready_ps[SLOTS_MAX];
    uint8_t left[SLOTS_MAX]; /* blocks not served yet; 0: the slot is free */
    unsigned lines, next;
};

void read_buffer_init(struct read_buffer *b, unsigned lines);

/* Serves a block if it is here; *ready_ps is when its line arrives from the media. */
bool read_buffer_take(struct read_buffer *b, uint64_t line, uint64_t *ready_ps);

/* The XPLine of this line was read for it; the other three blocks stay. */
void read_buffer_fill(struct read_buffer *b, uint64_t line, uint64_t ready_ps);

/* A write makes the buffered block stale. */
void read_buffer_drop(struct read_buffer *b, uint64_t line);

#endif
