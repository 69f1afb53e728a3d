/* pool_file.c -- see pool_file.h. */
#include "backends/pool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/machine.h"

/* Whether the file is there, and whether that is what the options expect. */
static int check(const char *path, const struct backend_options *o, bool *existing, bool *device,
                 char why[BACKEND_WHY_MAX])
{
    struct stat st;
    *existing = stat(path, &st) == 0;
    *device = *existing && S_ISCHR(st.st_mode) &&
              machine_is_dax(major(st.st_rdev), minor(st.st_rdev));
    if (*existing && !S_ISREG(st.st_mode) && !*device) {
        snprintf(why, BACKEND_WHY_MAX, "%s is %s; give the name of a file or of a /dev/dax device",
                 path, S_ISDIR(st.st_mode) ? "a directory" : "neither a file nor a DAX device");
        return -EINVAL;
    }
    if (*existing && !o->reuse && !o->overwrite) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s exists; --reuse goes on with it, --overwrite makes it new", path);
        return -EEXIST;
    }
    if (!*existing && o->reuse) {
        snprintf(why, BACKEND_WHY_MAX, "%s does not exist; leave out --reuse to make it", path);
        return -ENOENT;
    }
    return 0;
}

int pool_file_check(const char *path, const struct backend_options *o, char why[BACKEND_WHY_MAX])
{
    bool existing, device;
    return check(path, o, &existing, &device, why);
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

/* A device is as long as it is; its whole length must be mapped. */
static int size_device(struct pool_file *f, const char *path, const struct backend_options *o,
                       char why[BACKEND_WHY_MAX])
{
    struct stat st;
    const uint64_t wanted = f->bytes;
    if (fstat(f->fd, &st) != 0 ||
        !machine_dax_size(major(st.st_rdev), minor(st.st_rdev), &f->bytes)) {
        snprintf(why, BACKEND_WHY_MAX, "%s: /sys does not say how long this device is", path);
        return -ENODEV;
    }
    if (o->reuse || f->bytes >= wanted)
        return 0;
    snprintf(why, BACKEND_WHY_MAX,
             "%s has %" PRIu64 " MiB and the pool needs %" PRIu64 "; give fewer --records", path,
             f->bytes >> 20, wanted >> 20);
    return -ENOSPC;
}

/* All its blocks now: a store to a page that the disk has no room for would be a SIGBUS later. */
static int make_blocks(struct pool_file *f, const char *path, bool existing,
                       char why[BACKEND_WHY_MAX])
{
    const int error = ftruncate(f->fd, 0) != 0 ? errno : posix_fallocate(f->fd, 0, (off_t)f->bytes);
    if (!error)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "cannot make %s %" PRIu64 " MiB long: %s", path, f->bytes >> 20,
             strerror(error));
    if (!existing)
        unlink(path);
    return -ENOSPC;
}

int pool_file_open(struct pool_file *f, const char *path, uint64_t bytes,
                   const struct backend_options *o, char why[BACKEND_WHY_MAX])
{
    struct stat st;
    bool existing;
    *f = (struct pool_file){.fd = -1, .bytes = bytes};
    int error = check(path, o, &existing, &f->device, why);
    if (error)
        return error;
    f->fd = open_locked(path, existing ? 0 : O_CREAT | O_EXCL, why);
    if (f->fd < 0)
        return f->fd;
    if (f->device)
        error = size_device(f, path, o, why);
    else if (o->reuse)
        f->bytes = fstat(f->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    else
        error = make_blocks(f, path, existing, why);
    if (!error && !f->bytes) {
        snprintf(why, BACKEND_WHY_MAX, "%s is empty and so is no pool", path);
        error = -EINVAL;
    }
    if (error) {
        close(f->fd);
        f->fd = -1;
    }
    return error;
}
