/* bus.c -- see bus.h. The handler does what signal-safety(7) allows: atomics, and a jump out of the
 * instruction that failed, which was no library's but a load or store of ours.
 */
#include "backends/bus.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static struct area {
    uintptr_t base;
    size_t size;
    uint64_t lost; /* byte + 1; 0: all there */
} areas[BUS_AREAS_MAX];

static bool any_lost;
static _Thread_local sigjmp_buf *way_out;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    (void)context;
    for (int i = 0; i < BUS_AREAS_MAX; i++) {
        struct area *a = &areas[i];
        if (!a->size || address - a->base >= a->size || !way_out)
            continue;
        uint64_t none = 0;
        __atomic_compare_exchange_n(&a->lost, &none, address - a->base + 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
        __atomic_store_n(&any_lost, true, __ATOMIC_RELEASE);
        siglongjmp(*way_out, 1);
    }
    signal(number, SIG_DFL); /* not ours: the instruction fails again, and that is the end */
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool bus_watch(const void *base, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    for (int i = 0; i < BUS_AREAS_MAX; i++)
        if (!areas[i].size) {
            areas[i] = (struct area){.base = (uintptr_t)base, .size = size};
            return true;
        }
    return false;
}

void bus_unwatch(const void *base)
{
    bool left = false;
    for (int i = 0; i < BUS_AREAS_MAX; i++) {
        if (areas[i].size && areas[i].base == (uintptr_t)base)
            areas[i] = (struct area){0};
        left |= areas[i].lost != 0;
    }
    __atomic_store_n(&any_lost, left, __ATOMIC_RELEASE);
}

bool bus_run(void (*work)(void *arg), void *arg)
{
    sigjmp_buf here, *const outer = way_out;
    /* Nothing that is written after this line is read after the jump. */
    if (sigsetjmp(here, 0) != 0) {
        way_out = outer;
        return false;
    }
    way_out = &here;
    work(arg);
    way_out = outer;
    return true;
}

bool bus_lost(const void *base, uint64_t *byte)
{
    for (int i = 0; i < BUS_AREAS_MAX; i++) {
        const uint64_t lost = __atomic_load_n(&areas[i].lost, __ATOMIC_ACQUIRE);
        if (areas[i].size && areas[i].base == (uintptr_t)base && lost) {
            *byte = lost - 1;
            return true;
        }
    }
    return false;
}

void bus_check(void)
{
    if (way_out && __atomic_load_n(&any_lost, __ATOMIC_ACQUIRE))
        siglongjmp(*way_out, 1);
}
