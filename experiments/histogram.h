/* histogram.h -- latencies in logarithmic buckets: 64 per doubling, so a percentile is exact below
 * 128 and at most 1/64 too large above.
 *
 *     value   0 .. 127 | 128 130 .. 254 | 256 260 .. | ...
 *     width       1    |       2        |     4      | doubles with every doubling
 *
 * The unit is the caller's (the runner records picoseconds).
 * Threads: one histogram per worker; merge when all have stopped.
 */
#ifndef EXPERIMENTS_HISTOGRAM_H
#define EXPERIMENTS_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_SUB = 64, HISTOGRAM_BUCKETS = HISTOGRAM_SUB * 59 };

struct histogram {
    uint64_t count, max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_clear(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The smallest bucket bound that at least fraction of the values do not exceed; never above max.
 * 0 when the histogram is empty. */
uint64_t histogram_quantile(const struct histogram *h, double fraction);

#endif
