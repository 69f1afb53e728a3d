/* pm_native.h -- the door as instructions. See pm.h for what each word means.
 *
 * Nothing here costs more than the hand-written access: tests/check_zero_cost.sh compares the
 * machine code. Flush, drain and non-temporal copies are libpmem's, which chose clwb, clflushopt
 * or nothing (eADR) when it was loaded.
 */
#ifndef BACKENDS_PM_NATIVE_H
#define BACKENDS_PM_NATIVE_H

#include <libpmem.h>

#include "backends/native.h"
#include "backends/pm_atomic.h"

#define pm_at(region, offset) ((void PM *)((region)->base + (offset)))
#define pm_use() ((void)0)
#define pm_work(cycles) ((void)(cycles))
#define pm_self() (native_self)
#define pm_pause() native_pause()
#define pm_prefetch(p) __builtin_prefetch(PM_NAKED_(p))

#define pm_load(p) PM_LOAD_PLAIN_(p)
#define pm_load_relaxed(p) PM_LOAD_(p, __ATOMIC_RELAXED)
#define pm_load_acquire(p) PM_LOAD_(p, __ATOMIC_ACQUIRE)
#define pm_store(p, v) PM_STORE_PLAIN_(p, v)
#define pm_store_relaxed(p, v) PM_STORE_(p, v, __ATOMIC_RELAXED)
#define pm_store_release(p, v) PM_STORE_(p, v, __ATOMIC_RELEASE)
#define pm_cas(p, old, new) PM_CAS_(p, old, new)
#define pm_fetch_add(p, n) PM_FETCH_ADD_(p, n)

#define pm_read(dst, p, n) ((void)memcpy((dst), PM_NAKED_(p), (n)))
#define pm_write(p, src, n) ((void)memcpy(PM_NAKED_(p), (src), (n)))
#define pm_stream(p, src, n)                                                                       \
    ((void)pmem_memcpy(PM_NAKED_(p), (src), (n), PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN))
#define pm_flush(p, n) pmem_flush(PM_NAKED_(p), (n))
#define pm_fence() pmem_drain()
#define pm_persist(p, n) (pm_flush((p), (n)), pm_fence())

#endif
