/* fiber.h -- simulated threads: a stack and a saved stack pointer, switched by hand.
 *
 *     switch:  push callee-saved registers | save sp | load sp | pop | return
 *
 * A switch costs a few nanoseconds and no system call. Stacks are mapped with a guard page below,
 * so that an overflow is a fault at once. AddressSanitizer and ThreadSanitizer are told of every
 * switch. Assembly for x86-64 and aarch64 (fiber_x86_64.S, fiber_aarch64.S); ucontext elsewhere or
 * on request (fiber_ucontext.c). Floating-point control words are not saved: nobody changes them.
 *
 * Threads: all fibers of one thread stay on it. A fiber's function must not return: its last act
 * is to switch away for good.
 */
#ifndef BACKENDS_FIBER_H
#define BACKENDS_FIBER_H

#include <stddef.h>

struct fiber;

enum { FIBER_STACK_BYTES = 256 * 1024 }; /* more under a sanitizer */

/* The calling thread itself as a fiber, to switch back to. NULL: no memory. */
struct fiber *fiber_adopt(void);

/* A fiber that runs fn(arg) when first switched to. NULL: no memory. */
struct fiber *fiber_create(void (*fn)(void *arg), void *arg);

/* Frees a fiber that does not run; NULL is fine. */
void fiber_destroy(struct fiber *f);

/* Leaves from (which must be running) for to; returns when somebody switches back to from. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
