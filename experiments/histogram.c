/* histogram.c -- logarithmic buckets by shifting: the top seven bits of a value choose its place. */
#include "experiments/histogram.h"

#include <math.h>
#include <string.h>

static unsigned bucket_of(uint64_t value)
{
    if (value < 2 * HISTOGRAM_SUB)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - 6u;
    return shift * HISTOGRAM_SUB + (unsigned)(value >> shift);
}

/* The largest value that falls into the bucket. */
static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < 2 * HISTOGRAM_SUB)
        return bucket;
    unsigned shift = bucket / HISTOGRAM_SUB - 1;
    uint64_t top = bucket - shift * HISTOGRAM_SUB;
    return (top << shift) + ((UINT64_C(1) << shift) - 1);
}

void histogram_clear(struct histogram *h)
{
    memset(h, 0, sizeof *h);
}

void histogram_add(struct histogram *h, uint64_t value)
{
    h->buckets[bucket_of(value)]++;
    h->count++;
    if (value > h->max)
        h->max = value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
}

uint64_t histogram_quantile(const struct histogram *h, double fraction)
{
    uint64_t wanted = (uint64_t)ceil(fraction * (double)h->count), seen = 0;

    if (h->count == 0)
        return 0;
    if (wanted == 0)
        wanted = 1;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= wanted) {
            uint64_t end = bucket_end(i);
            return end < h->max ? end : h->max;
        }
    }
    return h->max;
}
