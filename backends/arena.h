/* arena.h -- the host memory behind a backend's two regions.
 *
 *     base                           base + volatile_at
 *     | pool, pre-faulted |  (hole)  | volatile, memory where touched |
 *
 * Huge pages where the system allows them. The pool is a file's pages or anonymous memory;
 * the file is locked (flock) until the arena closes.
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
    bool existing; /* the pool file was there before */
    int fd;        /* the pool file, locked while the arena is open; -1: anonymous memory */
};

/* Errors as backend_open()'s. */
int arena_open(struct arena *a, const struct backend_options *options, char why[BACKEND_WHY_MAX]);
void arena_close(struct arena *a);

#endif
