/* fiber.c -- stacks, guard pages and sanitizers; the switch itself is in fiber_*.{c,S}. */
#include "backends/fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/fiber_context.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

struct fiber {
    struct fiber_context *context;
    void (*fn)(void *arg);
    void *arg;
    char *mapping; /* guard page, then stack; NULL: the thread's own */
    size_t mapping_bytes;
    const void *stack_bottom; /* what AddressSanitizer wants to know */
    size_t stack_bytes;
    void *fake_stack;
    void *race_fiber; /* ThreadSanitizer's handle */
};

/* Whom the last switch left and for whom, for the other side of the switch. Per thread: tests run
 * fibers on more than one. */
static _Thread_local struct fiber *switched_from, *switched_to;

static void switch_begin(struct fiber *from, struct fiber *to)
{
    switched_from = from;
    switched_to = to;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack_bottom, to->stack_bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to->race_fiber, 0);
#endif
}

static void switch_end(void)
{
#ifdef __SANITIZE_ADDRESS__
    const void *bottom = NULL;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(switched_to->fake_stack, &bottom, &bytes);
    if (!switched_from->mapping) { /* a thread's own stack: learnt when first left */
        switched_from->stack_bottom = bottom;
        switched_from->stack_bytes = bytes;
    }
#endif
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    switch_begin(from, to);
    fiber_context_swap(from->context, to->context);
    switch_end();
}

static void fiber_main(void)
{
    switch_end();
    struct fiber *self = switched_to;
    self->fn(self->arg);
    assert(!"a fiber's function returned");
    abort();
}

struct fiber *fiber_adopt(void)
{
    struct fiber *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    if (fiber_context_adopt(&f->context) != 0) {
        free(f);
        return NULL;
    }
#ifdef __SANITIZE_THREAD__
    f->race_fiber = __tsan_get_current_fiber();
#endif
    return f;
}

struct fiber *fiber_create(void (*fn)(void *arg), void *arg)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct fiber *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->mapping_bytes = page + FIBER_STACK_BYTES;
    f->mapping = mmap(NULL, f->mapping_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (f->mapping == MAP_FAILED) {
        free(f);
        return NULL;
    }
    f->stack_bottom = f->mapping + page;
    f->stack_bytes = FIBER_STACK_BYTES;
    f->fn = fn;
    f->arg = arg;
    if (mprotect(f->mapping, page, PROT_NONE) != 0 ||
        fiber_context_init(&f->context, f->mapping + page, FIBER_STACK_BYTES, fiber_main) != 0) {
        munmap(f->mapping, f->mapping_bytes);
        free(f);
        return NULL;
    }
#ifdef __SANITIZE_THREAD__
    f->race_fiber = __tsan_create_fiber(0);
#endif
    return f;
}

void fiber_destroy(struct fiber *f)
{
    if (!f)
        return;
    if (f->mapping) {
#ifdef __SANITIZE_THREAD__
        __tsan_destroy_fiber(f->race_fiber);
#endif
        munmap(f->mapping, f->mapping_bytes);
    }
    fiber_context_fini(f->context);
    free(f);
}
