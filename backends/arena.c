/* arena.c -- see arena.h. */
#include "backends/arena.h"

#include <errno.h>
#include <inttypes.h>
#include <libpmem.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/bus.h"
#include "backends/pool_file.h"

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
}

struct range {
    char *base;
    uint64_t bytes;
};

static void touch_all(void *arg)
{
    const struct range *r = arg;
    for (uint64_t i = 0; i < r->bytes; i += 4096) {
        volatile char *page = r->base + i;
        *page = *page;
    }
}

/* Touches every page now, so that no page fault falls into a measurement. 0, -ENOMEM, or -EFAULT: a
 * page of the file cannot be had, as its disk is full. */
static int prefault(char *base, uint64_t bytes)
{
    struct range r = {base, bytes};
#ifdef MADV_POPULATE_WRITE
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL) /* EINVAL: a kernel before 5.14 */
        return errno == EFAULT ? -EFAULT : -ENOMEM;
#endif
    return bus_run(touch_all, &r) ? 0 : -EFAULT;
}

static int cannot_map(int error, const char *path, uint64_t bytes, char why[BACKEND_WHY_MAX])
{
    if (error == -EFAULT)
        snprintf(why, BACKEND_WHY_MAX,
                 "%s: a page of it cannot be had (sparse, and the disk is full?); make room", path);
    else
        snprintf(why, BACKEND_WHY_MAX,
                 "cannot map a pool of %" PRIu64 " MiB: not enough memory; try fewer --records",
                 bytes >> 20);
    return error == -EFAULT ? -EIO : error;
}

/* A pool and a volatile region that are mapped: watched, advised, pre-faulted. */
static int make_ready(struct arena *a, char *pool, uint64_t pool_bytes, char *dram,
                      uint64_t dram_bytes)
{
    a->pool = (struct pm_region){.base = pool, .size = pool_bytes, .kind = PM_PERSISTENT};
    a->dram = (struct pm_region){.base = dram, .size = dram_bytes, .kind = PM_VOLATILE};
    if (!bus_watch(pool, pool_bytes))
        return -ENOMEM;
    /* Advice: where it is refused the pages are small and the result's environment says so. */
    madvise(pool, pool_bytes, MADV_HUGEPAGE);
    madvise(dram, dram_bytes, MADV_HUGEPAGE);
    return prefault(pool, pool_bytes);
}

static int map_regions(struct arena *a, uint64_t pool_bytes, uint64_t dram_bytes)
{
    a->volatile_at = round_up(pool_bytes) + ARENA_PAGE;
    a->reserved = a->volatile_at + dram_bytes;
    char *raw = mmap(NULL, a->reserved + ARENA_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return -ENOMEM;
    a->base = (char *)round_up((uint64_t)(uintptr_t)raw);
    if (a->base > raw)
        munmap(raw, (size_t)(a->base - raw));
    const size_t behind = (size_t)(raw + ARENA_PAGE - a->base);
    if (behind)
        munmap(a->base + a->reserved, behind);

    const int pool_flags = a->fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    char *dram = a->base + a->volatile_at;
    if (mmap(a->base, pool_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | pool_flags, a->fd, 0) ==
            MAP_FAILED ||
        mmap(dram, dram_bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        return -ENOMEM;
    return make_ready(a, a->base, pool_bytes, dram, dram_bytes);
}

static int check_sizes(const struct backend_options *o, char why[BACKEND_WHY_MAX])
{
    if (o->pool_bytes && o->pool_bytes <= ARENA_POOL_MAX && o->volatile_bytes)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "a pool of %" PRIu64 " bytes: 1 byte to 2 TiB are possible",
             o->pool_bytes);
    return -EINVAL;
}

int arena_open(struct arena *a, const struct backend_options *options, char why[BACKEND_WHY_MAX])
{
    struct pool_file file = {.fd = -1, .bytes = round_up(options->pool_bytes)};
    *a = (struct arena){.fd = -1};
    int error = check_sizes(options, why);
    if (!error && options->pool_path)
        error = pool_file_open(&file, options->pool_path, file.bytes, options, why);
    a->fd = file.fd;
    if (!error && file.bytes > ARENA_POOL_MAX) {
        snprintf(why, BACKEND_WHY_MAX, "%s is longer than 2 TiB and so is no pool",
                 options->pool_path);
        error = -EINVAL;
    }
    if (error) {
        arena_close(a);
        return error;
    }
    error = map_regions(a, file.bytes, round_up(options->volatile_bytes));
    if (error) {
        error = cannot_map(error, options->pool_path, file.bytes, why);
        arena_close(a);
    }
    return error;
}

/* ---- by libpmem ---------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void blank_all(void *arg)
{
    const struct range *r = arg;
    pmem_memset_persist(r->base, 0, r->bytes);
}

/* Maps the whole file, or a new unnamed one in the directory. */
static int map_pmem(struct arena *a, const char *path, uint64_t new_bytes, char **pool,
                    size_t *bytes, char why[BACKEND_WHY_MAX])
{
    int is_pmem = 0;
    if (new_bytes)
        *pool = pmem_map_file(path, new_bytes, PMEM_FILE_CREATE | PMEM_FILE_TMPFILE, 0600, bytes,
                              &is_pmem);
    else
        *pool = pmem_map_file(path, 0, 0, 0, bytes, &is_pmem);
    if (!*pool) {
        const int error = errno == ENOSPC ? -ENOSPC : -EIO;
        snprintf(why, BACKEND_WHY_MAX, "libpmem cannot map %s: %.300s", path, pmem_errormsg());
        return error;
    }
    a->by_pmem = true;
    a->persistent = is_pmem != 0;
    return 0;
}

int arena_check_pmem(const char *path, const struct backend_options *options,
                     char why[BACKEND_WHY_MAX])
{
    if (!is_directory(path))
        return pool_file_check(path, options, why);
    if (!options->reuse)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "%s is a directory; --reuse needs the pool's file", path);
    return -EINVAL;
}

int arena_open_pmem(struct arena *a, const char *path, const struct backend_options *options,
                    char why[BACKEND_WHY_MAX])
{
    const uint64_t wanted = round_up(options->pool_bytes);
    const bool directory = is_directory(path);
    struct pool_file file = {.fd = -1};
    char *pool = NULL;
    size_t bytes = 0;

    *a = (struct arena){.fd = -1};
    int error = check_sizes(options, why);
    if (!error)
        error = arena_check_pmem(path, options, why);
    if (!error && !directory)
        error = pool_file_open(&file, path, wanted, options, why);
    if (error)
        return error;
    a->fd = file.fd;
    a->reserved = round_up(options->volatile_bytes);
    a->base = mmap(NULL, a->reserved, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->base == MAP_FAILED) {
        a->base = NULL;
        error = cannot_map(-ENOMEM, path, wanted, why);
    }
    if (!error)
        error = map_pmem(a, path, directory ? wanted : 0, &pool, &bytes, why);
    if (!error) {
        struct range all = {pool, bytes};
        error = make_ready(a, pool, bytes, a->base, a->reserved);
        /* A new file reads as zeroes; a device reads as it was left. */
        if (!error && file.device && !options->reuse && !bus_run(blank_all, &all))
            error = -EFAULT;
        if (error)
            error = cannot_map(error, path, bytes, why);
    }
    if (error)
        arena_close(a);
    return error;
}

/* ---- both ------------------------------------------------------------------------------------ */

void arena_close(struct arena *a)
{
    if (a->pool.base)
        bus_unwatch(a->pool.base);
    if (a->by_pmem)
        pmem_unmap(a->pool.base, a->pool.size);
    if (a->base)
        munmap(a->base, a->reserved);
    if (a->fd >= 0)
        close(a->fd); /* and with it the lock */
    *a = (struct arena){.fd = -1};
}

void arena_wipe_volatile(struct arena *a)
{
    madvise(a->dram.base, a->dram.size, MADV_DONTNEED);
}

bool arena_lost(const struct arena *a, char why[BACKEND_WHY_MAX])
{
    uint64_t byte;
    if (!a->pool.base || !bus_lost(a->pool.base, &byte))
        return false;
    snprintf(why, BACKEND_WHY_MAX,
             "the pool's byte %" PRIu64 " is gone: its file was cut short, the disk is full, or the "
             "medium failed; mend that and run again",
             byte);
    return true;
}
