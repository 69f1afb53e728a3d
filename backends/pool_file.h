/* pool_file.h -- the file or device behind a pool: found or made, locked, of a known size.
 *
 *     regular file   made with all its blocks, or found with --reuse; --overwrite makes it anew
 *     /dev/dax       all of the device, found with --reuse or taken with --overwrite
 *
 * The descriptor holds a lock (flock) against other processes until it is closed.
 *
 * Errors: -errno and one line in why. -EEXIST, -ENOENT: options and file disagree; -EBUSY: another
 * process has it; -ENOSPC: disk or device too small; -EINVAL: no file a pool could be in.
 */
#ifndef BACKENDS_POOL_FILE_H
#define BACKENDS_POOL_FILE_H

#include "backends/backend.h"

struct pool_file {
    int fd;
    uint64_t bytes; /* of the pool: what was asked for, or what is there */
    bool device;    /* a device-DAX device */
};

/* Without opening: whether the file and the options agree. */
int pool_file_check(const char *path, const struct backend_options *options,
                    char why[BACKEND_WHY_MAX]);
int pool_file_open(struct pool_file *f, const char *path, uint64_t bytes,
                   const struct backend_options *options, char why[BACKEND_WHY_MAX]);

#endif
