/* regions.h -- an emulated machine's two regions for tests of core/: both copies can run on them.
 *
 * Native copies use an emulating backend's memory as ordinary memory. A restart is the volatile
 * region wiped: all that is left then is what the pool's bytes say.
 */
#ifndef TESTS_REGIONS_H
#define TESTS_REGIONS_H

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "backends/backend.h"
#include "tests/random.h"

static inline struct backend *regions_open(uint64_t pool_mib, int threads)
{
    const struct backend_options options = {.pool_bytes = pool_mib << 20,
                                            .volatile_bytes = UINT64_C(1) << 30,
                                            .threads = threads,
                                            .node = -1,
                                            .memory_node = -1,
                                            .seed = 1};
    struct backend *b = NULL;
    char why[BACKEND_WHY_MAX] = "";
    cr_assert_eq(backend_open(&b, "emul:optane-100", &options, why), 0, "%s", why);
    return b;
}

/* What a restart leaves of the volatile region: zeroes. */
static inline void regions_wipe(struct backend *b)
{
    const struct pm_region *dram = backend_volatile(b);
    cr_assert_eq(madvise(dram->base, dram->size, MADV_DONTNEED), 0);
}

static inline void regions_run(struct backend *b, enum target target, int threads,
                               void (*worker)(void *arg, int self), void *arg)
{
    char why[BACKEND_WHY_MAX] = "";
    cr_assert_eq(backend_run(b, target, threads, worker, arg, why), 0, "%s", why);
}

#endif
