/* feed.c -- makes keys and values. */
#include "experiments/feed.h"

#include <string.h>

#include "experiments/keys.h"

uint64_t feed_capacity(const struct feed *f)
{
    if (f->file)
        return f->file->count;
    return f->key_size >= 8 ? UINT64_MAX : UINT64_C(1) << (8 * f->key_size);
}

uint64_t feed_fixed_value(uint64_t key, uint64_t turn)
{
    return ~key + turn;
}

struct bytes feed_key(const struct feed *f, uint64_t record, void *buffer)
{
    if (f->file)
        return f->file->keys[record % f->file->count];
    /* An odd factor permutes the numbers below any power of two. */
    uint64_t key = f->key_size >= 8 ? key_of(record, f->seed)
                                    : record * UINT64_C(0x9e3779b97f4a7c15);
    memcpy(buffer, &key, f->key_size < 8 ? f->key_size : 8);
    if (f->key_size > 8)
        memset((char *)buffer + 8, 'k', f->key_size - 8);
    return (struct bytes){buffer, f->key_size};
}

struct bytes feed_missing_key(const struct feed *f, uint64_t record, void *buffer)
{
    struct bytes key = feed_key(f, record, buffer);

    if (!f->file)
        return key;
    memcpy(buffer, key.data, key.size);
    *(char *)buffer = 0;
    return (struct bytes){buffer, key.size};
}

struct bytes feed_value(const struct feed *f, uint64_t record, uint64_t turn, void *buffer)
{
    uint64_t word = feed_fixed_value(record, turn);

    memset(buffer, 'v', f->value_size);
    memcpy(buffer, &word, f->value_size < 8 ? f->value_size : 8);
    return (struct bytes){buffer, f->value_size};
}
