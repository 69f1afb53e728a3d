/* native.c -- see native.h. */
#include "backends/native.h"

#include <sched.h>

_Thread_local int native_self;
_Thread_local struct native_counts native_counts;

static _Thread_local unsigned turns;

void native_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#endif
    if (++turns % 64 == 0)
        sched_yield();
}
