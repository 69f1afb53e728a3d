/* pm_emul.h -- the door as events. See pm.h for what each word means, emul.h for what they do.
 *
 * The rule that makes it simple: emul_*() returns at the simulated instant of the access, and the
 * access itself happens before any other simulated thread runs.
 */
#ifndef BACKENDS_PM_EMUL_H
#define BACKENDS_PM_EMUL_H

#include "backends/emul.h"
#include "backends/pm_atomic.h"

/* Where in the source a word stands. One static object per place, so it costs an address. */
#define PM_SITE_                                                                                   \
    __extension__({                                                                                \
        static const struct pm_site site_ = {__FILE__, __func__, __LINE__};                        \
        &site_;                                                                                    \
    })

#define pm_at(region, offset)                                                                      \
    (emul_at(PM_SITE_), (void PM *)((region)->base + (offset)))
#define pm_use() emul_use(PM_SITE_)
#define pm_work(cycles) emul_work((cycles), PM_SITE_)
#define pm_self() emul_self()
#define pm_pause() emul_pause(PM_SITE_)
#define pm_prefetch(p) emul_prefetch(PM_NAKED_(p), PM_SITE_)

#define PM_EVENT_(event, p) emul_##event(PM_NAKED_(p), sizeof *(p), PM_SITE_)

/* The address is evaluated twice, so it must not have side effects; one word per expression and
 * the check of core/ see to it. */
#define pm_load(p) (PM_EVENT_(load, p), PM_LOAD_PLAIN_(p))
#define pm_load_relaxed(p) (PM_EVENT_(load, p), PM_LOAD_(p, __ATOMIC_RELAXED))
#define pm_load_acquire(p) (PM_EVENT_(load, p), PM_LOAD_(p, __ATOMIC_ACQUIRE))
#define pm_store(p, v) (PM_EVENT_(store, p), PM_STORE_PLAIN_(p, v))
#define pm_store_relaxed(p, v) (PM_EVENT_(store, p), PM_STORE_(p, v, __ATOMIC_RELAXED))
#define pm_store_release(p, v) (PM_EVENT_(store, p), PM_STORE_(p, v, __ATOMIC_RELEASE))
#define pm_cas(p, old, new) (PM_EVENT_(atomic, p), PM_CAS_(p, old, new))
#define pm_fetch_add(p, n) (PM_EVENT_(atomic, p), PM_FETCH_ADD_(p, n))

#define pm_read(dst, p, n)                                                                         \
    emul_read((dst), PM_NAKED_(p), (n), PM_SITE_)
#define pm_write(p, src, n)                                                                        \
    emul_write(PM_NAKED_(p), (src), (n), PM_SITE_)
#define pm_stream(p, src, n)                                                                       \
    emul_stream(PM_NAKED_(p), (src), (n), PM_SITE_)
#define pm_flush(p, n) emul_flush(PM_NAKED_(p), (n), PM_SITE_)
#define pm_fence() emul_fence(PM_SITE_)
#define pm_persist(p, n) (pm_flush((p), (n)), pm_fence())

#endif
