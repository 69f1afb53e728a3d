/* keyfile.h -- real keys from a file, one per line.
 *
 * A line ends with a newline (the last may lack it) and has 1 .. 65536 bytes, none of them NUL; no
 * key comes twice. The file is read whole: keys point into it.
 *
 * Threads: read-only once open. Errors: -errno and one line in why, with the line's number.
 */
#ifndef EXPERIMENTS_KEYFILE_H
#define EXPERIMENTS_KEYFILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/store.h"

struct keyfile {
    char *text;
    struct bytes *keys;
    uint64_t count;
    uint32_t longest;
    uint64_t total_bytes; /* of all keys */
};

/* -ENOENT and the like: cannot be read; -EINVAL: not a list of keys; -ENOMEM. */
int keyfile_open(struct keyfile *f, const char *path, char *why, size_t why_size);
void keyfile_close(struct keyfile *f);

#endif
