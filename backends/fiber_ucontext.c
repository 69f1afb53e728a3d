/* fiber_ucontext.c -- contexts over ucontext, for processors we have no assembly for. Each switch
 * saves the signal mask by a system call: some hundred times slower, and otherwise the same. */
#include <errno.h>
#include <stdlib.h>
#include <ucontext.h>

#include "backends/fiber_context.h"

struct fiber_context {
    ucontext_t saved;
};

int fiber_context_adopt(struct fiber_context **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : -ENOMEM;
}

int fiber_context_init(struct fiber_context **out, void *stack, size_t size, void (*entry)(void))
{
    const int error = fiber_context_adopt(out);
    if (error)
        return error;
    getcontext(&(*out)->saved);
    (*out)->saved.uc_stack.ss_sp = stack;
    (*out)->saved.uc_stack.ss_size = size;
    (*out)->saved.uc_link = NULL;
    makecontext(&(*out)->saved, entry, 0);
    return 0;
}

void fiber_context_fini(struct fiber_context *c)
{
    free(c);
}

void fiber_context_swap(struct fiber_context *from, struct fiber_context *to)
{
    swapcontext(&from->saved, &to->saved);
}
