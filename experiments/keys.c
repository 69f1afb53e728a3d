/* keys.c -- the bijection, the generator and the Zipfian hat.
 *
 * Hat: h(x) = x^-theta with integral H(x) = (x^(1-theta) - 1) / (1-theta), log(x) when theta is 1.
 * A uniform u over (H(1.5) - 1, H(n + 0.5)] gives x = H^-1(u); the nearest whole number k is taken
 * when it lies close enough (cut) or when u >= H(k + 0.5) - h(k). Hoermann and Derflinger, section 3.
 */
#include "experiments/keys.h"

#include <errno.h>
#include <math.h>

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t mix_a = UINT64_C(0xbf58476d1ce4e5b9), mix_b = UINT64_C(0x94d049bb133111eb);

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * mix_a;
    x = (x ^ (x >> 27)) * mix_b;
    return x ^ (x >> 31);
}

/* The inverse of an odd factor modulo 2^64 by Newton's iteration: each step doubles the right bits. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

static uint64_t unshift(uint64_t y, int bits)
{
    uint64_t x = y;
    for (int done = bits; done < 64; done += bits)
        x = y ^ (x >> bits);
    return x;
}

uint64_t key_of(uint64_t record, uint64_t seed)
{
    return mix(record + mix(seed * golden));
}

uint64_t key_record(uint64_t key, uint64_t seed)
{
    uint64_t x = unshift(key, 31) * inverse(mix_b);
    x = unshift(x, 27) * inverse(mix_a);
    return unshift(x, 30) - mix(seed * golden);
}

uint64_t keys_random(uint64_t *state)
{
    *state += golden;
    return mix(*state);
}

/* In (0, 1). */
static double random_unit(uint64_t *state)
{
    return ((double)(keys_random(state) >> 11) + 0.5) * 0x1p-53;
}

/* Without bias (D. Lemire, "Fast random integer generation in an interval", 2019). */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
    for (;;) {
        __extension__ typedef unsigned __int128 wide;
        wide product = (wide)keys_random(state) * n;
        if ((uint64_t)product >= n || (uint64_t)product >= -n % n)
            return (uint64_t)(product >> 64);
    }
}

/* (exp(x) - 1) / x and log(1 + x) / x, continuous at 0: theta near 1 loses no digits. */
static double expm1_over(double x)
{
    return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log1p_over(double x)
{
    return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

static double hat(const struct key_source *s, double x)
{
    return exp(-s->theta * log(x));
}

static double area(const struct key_source *s, double x)
{
    double l = log(x);
    return expm1_over((1 - s->theta) * l) * l;
}

static double area_inverse(const struct key_source *s, double a)
{
    double t = a * (1 - s->theta);
    if (t < -1)
        t = -1; /* rounding only: the area's limit is at -1 */
    return exp(log1p_over(t) * a);
}

void keys_grow(struct key_source *s, uint64_t records)
{
    s->records = records;
    if (s->distribution != KEYS_UNIFORM)
        s->area_all = area(s, (double)records + 0.5);
}

int keys_init(struct key_source *s, enum key_distribution distribution, double theta,
              uint64_t records, uint64_t seed, uint64_t stream)
{
    if (records == 0)
        return -EINVAL;
    if (distribution != KEYS_UNIFORM && !(theta > 0 && isfinite(theta)))
        return -EINVAL;
    *s = (struct key_source){.distribution = distribution, .theta = theta, .records = records};
    s->random = mix(mix(seed + golden) + stream * mix_a);
    if (distribution != KEYS_UNIFORM) {
        s->area_first = area(s, 1.5) - 1;
        s->cut = 2 - area_inverse(s, area(s, 2.5) - hat(s, 2));
    }
    keys_grow(s, records);
    return 0;
}

uint64_t keys_rank(struct key_source *s)
{
    for (;;) {
        double u = s->area_all + random_unit(&s->random) * (s->area_first - s->area_all);
        double x = area_inverse(s, u);
        double k = floor(x + 0.5);
        if (!(k >= 1))
            k = 1;
        if (k > (double)s->records)
            k = (double)s->records;
        if (k - x <= s->cut || u >= area(s, k + 0.5) - hat(s, k))
            return (uint64_t)k;
    }
}

/* FNV-1a over the eight bytes, lowest first. */
static uint64_t fnv1a(uint64_t x)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < 8; i++) {
        h ^= (x >> (8 * i)) & 0xff;
        h *= UINT64_C(0x100000001b3);
    }
    return h;
}

uint64_t keys_next(struct key_source *s)
{
    switch (s->distribution) {
    case KEYS_ZIPFIAN:
        return fnv1a(keys_rank(s) - 1) % s->records;
    case KEYS_LATEST:
        return s->records - keys_rank(s);
    case KEYS_UNIFORM:
        break;
    }
    return random_below(&s->random, s->records);
}
