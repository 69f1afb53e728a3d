/* fiber_assembly.c -- contexts over our own switch (fiber_x86_64.S, fiber_aarch64.S). */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/fiber_context.h"

struct fiber_context {
    void *sp;
};

void fiber_swap(void **save_sp, void *load_sp);

/* Where in the first frame the return address lies, and how long the frame is; see the .S files. */
#if defined __x86_64__
enum { FRAME_BYTES = 8 * 8, FRAME_RETURN = 6 * 8 };
#elif defined __aarch64__
enum { FRAME_BYTES = 160, FRAME_RETURN = 88 };
#else
#error "no assembly for this processor: configure with -DPMTWIN_FIBER=ucontext"
#endif

int fiber_context_init(struct fiber_context **out, void *stack, size_t size, void (*entry)(void))
{
    struct fiber_context *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    char *frame = (char *)top - FRAME_BYTES;
    memset(frame, 0, FRAME_BYTES);
    const uintptr_t address = (uintptr_t)entry;
    memcpy(frame + FRAME_RETURN, &address, sizeof address);
    c->sp = frame;
    *out = c;
    return 0;
}

int fiber_context_adopt(struct fiber_context **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : -ENOMEM;
}

void fiber_context_fini(struct fiber_context *c)
{
    free(c);
}

void fiber_context_swap(struct fiber_context *from, struct fiber_context *to)
{
    fiber_swap(&from->sp, to->sp);
}
