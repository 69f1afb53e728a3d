/* pm_counted.h -- the native door with a count of what the emulator counts too. Never timed.
 *
 * Counts are the calling thread's own (native.h); the native backends sum them after a counting
 * pass. Lines are counted as the emulator does: every 64 B line that [p, p+n) touches.
 */
#ifndef BACKENDS_PM_COUNTED_H
#define BACKENDS_PM_COUNTED_H

#include "backends/pm_native.h"

#undef pm_stream
#undef pm_flush
#undef pm_fence

#define pm_stream(p, src, n)                                                                       \
    (native_counts.stream_lines += native_lines((uintptr_t)(p), (n)),                              \
     (void)pmem_memcpy(PM_NAKED_(p), (src), (n), PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN))
#define pm_flush(p, n)                                                                             \
    (native_counts.flush_lines += native_lines((uintptr_t)(p), (n)), pmem_flush(PM_NAKED_(p), (n)))
#define pm_fence() (native_counts.fences++, pmem_drain())

#endif
