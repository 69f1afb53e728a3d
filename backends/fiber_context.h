/* fiber_context.h -- the part of a fiber that depends on the processor.
 *
 * Source: the calling conventions: System V AMD64 ABI sec. 3.2.1; Arm AAPCS64 sec. 6.1.
 */
#ifndef BACKENDS_FIBER_CONTEXT_H
#define BACKENDS_FIBER_CONTEXT_H

#include <stddef.h>

struct fiber_context;

/* A context that calls entry() on this stack when first swapped to; stored in *out.
 * 0 or -ENOMEM. */
int fiber_context_init(struct fiber_context **out, void *stack, size_t size, void (*entry)(void));
/* A context for the calling thread. */
int fiber_context_adopt(struct fiber_context **out);
void fiber_context_fini(struct fiber_context *c);
void fiber_context_swap(struct fiber_context *from, struct fiber_context *to);

#endif
