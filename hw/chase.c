/* chase.c -- see chase.h. */
#include "hw/chase.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

struct line {
    uint64_t next;
    char pad[56];
};

static uint64_t mix(uint64_t *state) /* SplitMix64 (Steele et al., OOPSLA '14) */
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* One cycle through all lines. */
static void make_cycle(struct line *line, uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++)
        line[i].next = i;
    for (uint64_t i = count - 1; i > 0; i--) {
        const uint64_t j = mix(&seed) % i, kept = line[i].next;
        line[i].next = line[j].next;
        line[j].next = kept;
    }
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t follow(const struct line *line, uint64_t at, uint64_t steps)
{
    while (steps--)
        at = line[at].next;
    return at;
}

int chase(uint64_t bytes, uint64_t steps, uint64_t seed, double *ns)
{
    const uint64_t huge = UINT64_C(2) << 20, size = (bytes + huge - 1) / huge * huge + huge;
    char *raw = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        return -ENOMEM;
    char *base = raw + (huge - (uintptr_t)raw % huge) % huge;
    madvise(base, size - huge, MADV_HUGEPAGE);
    struct line *line = (struct line *)(void *)base;
    make_cycle(line, bytes / sizeof *line, seed);

    uint64_t at = follow(line, 0, steps / 4);
    const double start = now_ns();
    at = follow(line, at, steps);
    *ns = (now_ns() - start) / (double)steps;
    volatile uint64_t seen = at; /* so that the steps are made */
    (void)seen;
    munmap(raw, size);
    return 0;
}
