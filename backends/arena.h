/* arena.h -- the host memory behind a backend's two regions.
 *
 *     base                           base + volatile_at
 *     | pool, pre-faulted |  (hole)  | volatile, memory where touched |
 *
 * Huge pages where the system allows them. The pool is a file's pages, anonymous memory, or what
 * libpmem mapped, which then lies elsewhere: only the emulator needs both in one stretch.
 */
#ifndef BACKENDS_ARENA_H
#define BACKENDS_ARENA_H

#include "backends/backend.h"
#include "backends/pm.h"

#define ARENA_PAGE (UINT64_C(2) << 20)
#define ARENA_POOL_MAX (UINT64_C(1) << 41) /* 2 TiB: what the model can number, see model.h */

struct arena {
    char *base;
    uint64_t volatile_at, reserved; /* offset, and bytes of address space from base */
    struct pm_region pool, dram;
    int fd;        /* the pool file, locked while the arena is open; -1: anonymous memory */
    bool by_pmem;  /* libpmem mapped the pool */
    bool persistent; /* .. and says that it survives a power cut */
};

/* The pool in options->pool_path, or in anonymous memory. Errors as backend_open()'s. */
int arena_open(struct arena *a, const struct backend_options *options, char why[BACKEND_WHY_MAX]);
/* Whether what lies there, and the options, agree. */
int arena_check_pmem(const char *path, const struct backend_options *options,
                     char why[BACKEND_WHY_MAX]);
/* The pool in a file, device or (unnamed, and gone with the arena) directory, mapped by libpmem. */
int arena_open_pmem(struct arena *a, const char *path, const struct backend_options *options,
                    char why[BACKEND_WHY_MAX]);
void arena_close(struct arena *a);

/* The volatile region reads as zeroes again. */
void arena_wipe_volatile(struct arena *a);

/* True when pool memory could not be read or written any more (bus.h); why says so. */
bool arena_lost(const struct arena *a, char why[BACKEND_WHY_MAX]);

#endif
