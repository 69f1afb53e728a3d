/* keyfile.c -- reads, splits and checks a key file. */
#include "experiments/keyfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the last line is too long already: then an endless file need not be read to its end. */
static bool tail_too_long(const char *text, size_t size)
{
    const char *tail = size ? memrchr(text, '\n', size) : NULL;
    return size - (tail ? (size_t)(tail - text) + 1 : 0) > STORE_BYTES_MAX;
}

static int read_whole(const char *path, char **text, size_t *size)
{
    FILE *in = fopen(path, "rb");
    size_t room = 1 << 16;
    int error = 0;

    if (!in)
        return -errno;
    *size = 0;
    *text = malloc(room);
    while (*text) {
        errno = 0;
        *size += fread(*text + *size, 1, room - *size, in);
        if (ferror(in))
            error = errno ? -errno : -EIO;
        if (*size < room || error || tail_too_long(*text, *size))
            break;
        room *= 2;
        char *more = realloc(*text, room);
        if (!more)
            free(*text);
        *text = more;
    }
    fclose(in);
    if (!*text)
        return -ENOMEM;
    return error;
}

static int add_key(struct keyfile *f, uint64_t *room, const char *key, size_t size)
{
    if (f->count == *room) {
        *room = *room ? *room * 2 : 1024;
        struct bytes *more = realloc(f->keys, *room * sizeof *more);
        if (!more)
            return -ENOMEM;
        f->keys = more;
    }
    f->keys[f->count++] = (struct bytes){key, (uint32_t)size};
    f->total_bytes += size;
    if (size > f->longest)
        f->longest = (uint32_t)size;
    return 0;
}

static const char *line_fault(const char *line, size_t length)
{
    if (length == 0)
        return "is empty; remove it";
    if (length > STORE_BYTES_MAX)
        return "is longer than 64 KB, the longest key; shorten it";
    if (memchr(line, 0, length))
        return "has a NUL byte; give text, one key per line";
    return NULL;
}

static int split_lines(struct keyfile *f, size_t size, const char *path, char *why,
                       size_t why_size)
{
    uint64_t room = 0;

    for (size_t at = 0; at < size;) {
        const char *line = f->text + at, *end = memchr(line, '\n', size - at);
        size_t length = end ? (size_t)(end - line) : size - at;
        const char *fault = line_fault(line, length);
        if (fault) {
            snprintf(why, why_size, "%s: line %" PRIu64 " %s", path, f->count + 1, fault);
            return -EINVAL;
        }
        if (add_key(f, &room, line, length)) {
            snprintf(why, why_size, "%s: not enough memory for its keys", path);
            return -ENOMEM;
        }
        at += length + 1;
    }
    if (f->count == 0) {
        snprintf(why, why_size, "%s: is empty; give one key per line", path);
        return -EINVAL;
    }
    return 0;
}

static int compare_keys(const void *a, const void *b)
{
    const struct bytes *x = *(const struct bytes *const *)a, *y = *(const struct bytes *const *)b;
    uint32_t shorter = x->size < y->size ? x->size : y->size;
    int order = memcmp(x->data, y->data, shorter);
    if (order == 0)
        order = (x->size > y->size) - (x->size < y->size);
    return order ? order : (x > y) - (x < y);
}

static int refuse_duplicates(const struct keyfile *f, const char *path, char *why, size_t why_size)
{
    const struct bytes **sorted = malloc(f->count * sizeof *sorted);
    int error = 0;

    if (!sorted) {
        snprintf(why, why_size, "%s: not enough memory to look for duplicates", path);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < f->count; i++)
        sorted[i] = &f->keys[i];
    qsort(sorted, f->count, sizeof *sorted, compare_keys);
    for (uint64_t i = 1; i < f->count && !error; i++)
        if (sorted[i]->size == sorted[i - 1]->size &&
            memcmp(sorted[i]->data, sorted[i - 1]->data, sorted[i]->size) == 0) {
            snprintf(why, why_size,
                     "%s: line %td repeats line %td; every key may come once, see sort -u", path,
                     sorted[i] - f->keys + 1, sorted[i - 1] - f->keys + 1);
            error = -EINVAL;
        }
    free(sorted);
    return error;
}

int keyfile_open(struct keyfile *f, const char *path, char *why, size_t why_size)
{
    size_t size = 0;
    *f = (struct keyfile){0};
    int error = read_whole(path, &f->text, &size);

    if (error)
        snprintf(why, why_size, "%s: cannot be read: %s; give --keys a file with one key per line",
                 path, strerror(-error));
    if (!error)
        error = split_lines(f, size, path, why, why_size);
    if (!error)
        error = refuse_duplicates(f, path, why, why_size);
    if (error)
        keyfile_close(f);
    return error;
}

void keyfile_close(struct keyfile *f)
{
    free(f->keys);
    free(f->text);
    *f = (struct keyfile){0};
}
