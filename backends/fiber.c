/* fiber.c -- stacks, guard pages and sanitizers; the switch itself is in fiber_*.{c,S}. */
#include "backends/fiber.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/fiber_context.h"

#ifdef __has_feature /* clang's way to say it */
#if __has_feature(address_sanitizer)
#define FIBER_ASAN
#elif __has_feature(thread_sanitizer)
#define FIBER_TSAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__ /* gcc's */
#define FIBER_ASAN
#elif defined __SANITIZE_THREAD__
#define FIBER_TSAN
#endif

#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* Virtual; memory only where touched. Sanitizers make frames several times as large. */
#if defined FIBER_ASAN || defined FIBER_TSAN
enum { STACK_BYTES = 2 * 1024 * 1024 };
#else
enum { STACK_BYTES = FIBER_STACK_BYTES };
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

static void switch_end(void)
{
#ifdef FIBER_ASAN
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
    switched_from = from;
    switched_to = to;
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack_bottom, to->stack_bytes);
#endif
#ifdef FIBER_TSAN /* here and in no helper: a helper's return would be booked on the other fiber */
    __tsan_switch_to_fiber(to->race_fiber, 0);
#endif
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
#ifdef FIBER_TSAN
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
    f->mapping_bytes = page + STACK_BYTES;
    f->mapping = mmap(NULL, f->mapping_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (f->mapping == MAP_FAILED) {
        free(f);
        return NULL;
    }
    f->stack_bottom = f->mapping + page;
    f->stack_bytes = STACK_BYTES;
    f->fn = fn;
    f->arg = arg;
    if (mprotect(f->mapping, page, PROT_NONE) != 0 ||
        fiber_context_init(&f->context, f->mapping + page, STACK_BYTES, fiber_main) != 0) {
        munmap(f->mapping, f->mapping_bytes);
        free(f);
        return NULL;
    }
#ifdef FIBER_TSAN
    f->race_fiber = __tsan_create_fiber(0);
#endif
    return f;
}

void fiber_destroy(struct fiber *f)
{
    if (!f)
        return;
    if (f->mapping) {
#ifdef FIBER_TSAN
        __tsan_destroy_fiber(f->race_fiber);
#endif
        munmap(f->mapping, f->mapping_bytes);
    }
    fiber_context_fini(f->context);
    free(f);
}
