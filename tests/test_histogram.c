/* test_histogram.c -- quantiles against sorted values. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "experiments/histogram.h"
#include "experiments/keys.h"

static struct histogram h; /* 30 KB */

Test(histogram, an_empty_one_says_zero)
{
    histogram_clear(&h);
    cr_assert_eq(histogram_quantile(&h, 0.5), 0);
}

Test(histogram, small_values_are_exact)
{
    histogram_clear(&h);
    for (uint64_t v = 1; v <= 100; v++)
        histogram_add(&h, v);
    cr_assert_eq(histogram_quantile(&h, 0.5), 50);
    cr_assert_eq(histogram_quantile(&h, 0.9), 90);
    cr_assert_eq(histogram_quantile(&h, 0.99), 99);
    cr_assert_eq(histogram_quantile(&h, 1), 100);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(histogram, quantiles_are_never_too_small_and_at_most_a_64th_too_large)
{
    enum { N = 10000 };
    static uint64_t values[N];
    static const double fractions[] = {0.5, 0.9, 0.99, 0.999, 1};
    uint64_t random = 5;

    histogram_clear(&h);
    for (int i = 0; i < N; i++) {
        uint64_t r = keys_random(&random);
        values[i] = r >> (r & 63);
        histogram_add(&h, values[i]);
    }
    qsort(values, N, sizeof values[0], compare);
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        uint64_t exact = values[(int)(fractions[i] * N + 0.5) - 1];
        uint64_t got = histogram_quantile(&h, fractions[i]);
        cr_assert(got >= exact && got - exact <= exact / 64, "%g: exact %llu, got %llu",
                  fractions[i], (unsigned long long)exact, (unsigned long long)got);
    }
}

Test(histogram, the_extremes_have_their_place)
{
    histogram_clear(&h);
    histogram_add(&h, 0);
    histogram_add(&h, UINT64_MAX);
    cr_assert_eq(histogram_quantile(&h, 0.5), 0);
    cr_assert_eq(histogram_quantile(&h, 1), UINT64_MAX);
}

Test(histogram, merged_halves_equal_the_whole)
{
    static struct histogram half[2];
    histogram_clear(&h);
    histogram_clear(&half[0]);
    histogram_clear(&half[1]);
    for (uint64_t v = 0; v < 5000; v++) {
        histogram_add(&h, v * v);
        histogram_add(&half[v % 2], v * v);
    }
    histogram_merge(&half[0], &half[1]);
    cr_assert_arr_eq(&half[0], &h, sizeof h);
}
