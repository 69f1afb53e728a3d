/* native.h -- what the native door needs of a real thread: its number, its counts, how it waits.
 *
 * Thread-local here, never in core/: the emulated door keeps the same facts per fiber.
 */
#ifndef BACKENDS_NATIVE_H
#define BACKENDS_NATIVE_H

#include <stddef.h>
#include <stdint.h>

enum { NATIVE_NUMBERS = 1024 }; /* of workers and tasks together: what core/epoch.h has room for */

struct native_counts {
    uint64_t flush_lines;  /* 64 B lines flushed */
    uint64_t stream_lines; /* 64 B lines streamed */
    uint64_t fences;
};

extern _Thread_local int native_self;                     /* worker number, from 0 */
extern _Thread_local struct native_counts native_counts;  /* written by the counted door only */

/* A number for a task: the highest that no other task has, as workers count from 0. -1: none. */
int native_take_number(void);
void native_give_number(int number);

/* One turn of a waiting loop: a CPU pause, and the processor given up every 64th turn, so that a
 * lock holder that was descheduled can run when there are more threads than processors. */
void native_pause(void);

/* 64 B lines that the n bytes from address on touch. */
static inline uint64_t native_lines(uintptr_t address, size_t n)
{
    return n ? (address + n - 1) / 64 - address / 64 + 1 : 0;
}

#endif
