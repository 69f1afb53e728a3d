/* native.c -- see native.h. */
#include "backends/native.h"

#include "backends/bus.h"

#include <sched.h>
#include <stdbool.h>

_Thread_local int native_self;
_Thread_local struct native_counts native_counts;

static _Thread_local unsigned turns;

static bool taken[NATIVE_NUMBERS];

int native_take_number(void)
{
    for (int i = NATIVE_NUMBERS - 1; i > 0; i--)
        if (!__atomic_exchange_n(&taken[i], true, __ATOMIC_ACQ_REL))
            return i;
    return -1;
}

void native_give_number(int number)
{
    __atomic_store_n(&taken[number], false, __ATOMIC_RELEASE);
}

void native_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
    if (++turns % 64 == 0)
        sched_yield();
    bus_check();
}
