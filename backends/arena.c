/* arena.c -- see arena.h. */
#include "backends/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE;
}

/* Whether the file is there, and whether that is what the options expect. */
static int check_file(const struct backend_options *o, bool *existing, char why[BACKEND_WHY_MAX])
{
    struct stat st;
    *existing = stat(o->pool_path, &st) == 0;
    if (*existing && !S_ISREG(st.st_mode)) {
        snprintf(why, BACKEND_WHY_MAX, "%s is not a file; give --pool a file's name", o->pool_path);
        return -EINVAL;
    }
    if (*existing && !o->reuse && !o->overwrite) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s exists; --reuse goes on with it, --overwrite makes it new", o->pool_path);
        return -EEXIST;
    }
    if (!*existing && o->reuse) {
        snprintf(why, BACKEND_WHY_MAX, "%s does not exist; leave out --reuse to make it",
                 o->pool_path);
        return -ENOENT;
    }
    return 0;
}

/* Opens the file and holds it against other processes, who would cut it short or write to it. */
static int open_locked(const char *path, int flags, char why[BACKEND_WHY_MAX])
{
    const int fd = open(path, flags | O_RDWR | O_CLOEXEC, 0644);
    if (fd < 0) {
        const int error = -errno;
        snprintf(why, BACKEND_WHY_MAX, "cannot open %s: %s", path, strerror(-error));
        return error;
    }
    /* A file system that knows no locks is no reason to refuse. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        snprintf(why, BACKEND_WHY_MAX, "%s is in use by another process; wait for its end", path);
        close(fd);
        return -EBUSY;
    }
    return fd;
}

/* Opens or makes the pool file and settles the pool's size. */
static int open_file(const struct backend_options *o, uint64_t *bytes, bool *existing,
                     char why[BACKEND_WHY_MAX])
{
    struct stat st;
    const int error = check_file(o, existing, why);
    if (error)
        return error;
    const int fd = open_locked(o->pool_path, *existing ? 0 : O_CREAT | O_EXCL, why);
    if (fd < 0)
        return fd;
    if (*existing && o->reuse) {
        *bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
        return fd;
    }
    if (ftruncate(fd, 0) != 0 || posix_fallocate(fd, 0, (off_t)*bytes) != 0) {
        snprintf(why, BACKEND_WHY_MAX, "cannot make %s %llu MiB long: is the disk full?",
                 o->pool_path, (unsigned long long)(*bytes >> 20));
        if (!*existing)
            unlink(o->pool_path);
        close(fd);
        return -ENOSPC;
    }
    *existing = false;
    return fd;
}

/* Touches every page now, so that no page fault falls into a measurement. 0 or -ENOMEM. */
static int prefault(char *base, uint64_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL) /* EINVAL: a kernel before 5.14 */
        return -ENOMEM;
#endif
    for (uint64_t i = 0; i < bytes; i += 4096) {
        volatile char *page = base + i;
        *page = *page;
    }
    return 0;
}

static int map_regions(struct arena *a, int fd, uint64_t pool_bytes, uint64_t dram_bytes)
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

    const int pool_flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    char *dram = a->base + a->volatile_at;
    int error = 0;
    if (mmap(a->base, pool_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | pool_flags, fd, 0) ==
            MAP_FAILED ||
        mmap(dram, dram_bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        error = -ENOMEM;
    /* Advice: where it is refused the pages are small and the result's environment says so. */
    if (!error) {
        madvise(a->base, pool_bytes, MADV_HUGEPAGE);
        madvise(dram, dram_bytes, MADV_HUGEPAGE);
        error = prefault(a->base, pool_bytes);
    }
    if (error) {
        munmap(a->base, a->reserved);
        a->base = NULL;
        return error;
    }
    a->pool = (struct pm_region){.base = a->base, .size = pool_bytes, .kind = PM_PERSISTENT};
    a->dram = (struct pm_region){.base = dram, .size = dram_bytes, .kind = PM_VOLATILE};
    return 0;
}

int arena_open(struct arena *a, const struct backend_options *options, char why[BACKEND_WHY_MAX])
{
    uint64_t pool_bytes = round_up(options->pool_bytes);
    const uint64_t dram_bytes = round_up(options->volatile_bytes);
    *a = (struct arena){.fd = -1};
    if (!pool_bytes || pool_bytes > ARENA_POOL_MAX || !dram_bytes) {
        snprintf(why, BACKEND_WHY_MAX, "a pool of %llu bytes: 1 byte to 2 TiB are possible",
                 (unsigned long long)options->pool_bytes);
        return -EINVAL;
    }
    int fd = -1;
    if (options->pool_path) {
        fd = open_file(options, &pool_bytes, &a->existing, why);
        if (fd < 0)
            return fd;
        if (!pool_bytes || pool_bytes > ARENA_POOL_MAX) {
            snprintf(why, BACKEND_WHY_MAX, "%s has %llu bytes and so is no pool",
                     options->pool_path, (unsigned long long)pool_bytes);
            close(fd);
            return -EINVAL;
        }
    }
    const int error = map_regions(a, fd, pool_bytes, dram_bytes);
    a->fd = fd;
    if (error) {
        snprintf(why, BACKEND_WHY_MAX,
                 "cannot map a pool of %llu MiB: not enough memory; try fewer --records",
                 (unsigned long long)(pool_bytes >> 20));
        arena_close(a);
    }
    return error;
}

void arena_close(struct arena *a)
{
    if (a->base)
        munmap(a->base, a->reserved);
    if (a->fd >= 0)
        close(a->fd); /* and with it the lock */
    *a = (struct arena){.fd = -1};
}
