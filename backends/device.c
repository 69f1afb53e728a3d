/* device.c -- see device.h. */
#include "backends/device.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "model/model.h"

static double host_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int device_random(const char *profile, uint64_t span_bytes, uint64_t accesses, uint64_t seed,
                  double *host_ns_per_access, char *why, size_t why_size)
{
    const uint64_t lines = span_bytes / 64;
    if (!lines || lines > UINT32_MAX || !accesses) {
        snprintf(why, why_size, "%llu accesses over %llu bytes: 1 or more, over 64 B to 256 GiB",
                 (unsigned long long)accesses, (unsigned long long)span_bytes);
        return -EINVAL;
    }
    struct profile p;
    struct model *m;
    int error = profile_load(&p, profile, why, why_size);
    if (!error)
        error = model_create(&m, &p, span_bytes, seed, why, why_size);
    if (error)
        return error;

    uint64_t random = seed * 2 + 1, now = 0;
    const double start = host_now();
    for (uint64_t i = 0; i < accesses; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t line = (random >> 32) * lines >> 32;
        now += 10000; /* 10 ns apart: the order matters, not the load */
        model_device_access(m, now, line, random >> 20 & 1);
    }
    *host_ns_per_access = (host_now() - start) * 1e9 / (double)accesses;
    model_destroy(m);
    return 0;
}
