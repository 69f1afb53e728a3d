/* test_keys.c -- the bijection, the Zipfian ranks against their exact probabilities, key files. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiments/keyfile.h"
#include "experiments/keys.h"
#include "experiments/workload.h"

Test(keys, every_key_leads_back_to_its_record)
{
    static const uint64_t records[] = {0, 1, 2, 12345, UINT64_C(1) << 40, UINT64_MAX};
    for (uint64_t seed = 0; seed < 50; seed++)
        for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
            cr_assert_eq(key_record(key_of(records[i], seed), seed), records[i]);
}

Test(keys, another_seed_gives_other_keys)
{
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++)
        same += key_of(i, 1) == key_of(i, 2);
    cr_assert_eq(same, 0);
}

/* Chi-square of the first ranks against 1/k^theta; 20 cells, so 60 is far beyond any luck. */
static double chi_square(double theta, uint64_t records, int draws)
{
    enum { CELLS = 20 };
    struct key_source s;
    double total = 0, chi = 0, rest = 1;
    int seen[CELLS + 1] = {0};

    cr_assert_eq(keys_init(&s, KEYS_ZIPFIAN, theta, records, 7, 0), 0);
    for (uint64_t k = 1; k <= records; k++)
        total += pow((double)k, -theta);
    for (int i = 0; i < draws; i++) {
        uint64_t k = keys_rank(&s);
        cr_assert(k >= 1 && k <= records);
        seen[k <= CELLS ? k - 1 : CELLS]++;
    }
    for (int k = 0; k <= CELLS; k++) {
        double p = k < CELLS ? pow(k + 1.0, -theta) / total : rest;
        rest -= p;
        double expected = p * draws, off = seen[k] - expected;
        if (expected > 5)
            chi += off * off / expected;
    }
    return chi;
}

Test(keys, zipfian_ranks_have_the_probabilities_of_the_law)
{
    static const double thetas[] = {0.2, 0.5, 0.99, 1.0, 1.00000001, 1.3, 2.5};
    for (size_t i = 0; i < sizeof thetas / sizeof thetas[0]; i++) {
        double chi = chi_square(thetas[i], 1000, 200000);
        cr_assert(chi < 60, "theta %g: chi-square %g", thetas[i], chi);
    }
}

Test(keys, uniform_records_fill_every_cell_alike)
{
    struct key_source s;
    int seen[10] = {0};
    cr_assert_eq(keys_init(&s, KEYS_UNIFORM, 0, 10, 3, 0), 0);
    for (int i = 0; i < 100000; i++)
        seen[keys_next(&s)]++;
    for (int i = 0; i < 10; i++)
        cr_assert(abs(seen[i] - 10000) < 500, "cell %d: %d", i, seen[i]);
}

Test(keys, latest_prefers_the_newest_record_and_follows_growth)
{
    struct key_source s;
    int newest = 0;
    cr_assert_eq(keys_init(&s, KEYS_LATEST, 0.99, 100, 3, 0), 0);
    keys_grow(&s, 1000);
    for (int i = 0; i < 10000; i++) {
        uint64_t record = keys_next(&s);
        cr_assert_lt(record, 1000);
        newest += record == 999;
    }
    cr_assert(newest > 1000, "newest chosen %d times of 10000", newest);
}

Test(keys, impossible_sources_are_refused)
{
    struct key_source s;
    cr_assert_eq(keys_init(&s, KEYS_UNIFORM, 0, 0, 1, 0), -EINVAL);
    cr_assert_eq(keys_init(&s, KEYS_ZIPFIAN, 0, 10, 1, 0), -EINVAL);
    cr_assert_eq(keys_init(&s, KEYS_ZIPFIAN, -1, 10, 1, 0), -EINVAL);
    cr_assert_eq(keys_init(&s, KEYS_ZIPFIAN, NAN, 10, 1, 0), -EINVAL);
}

Test(keys, a_schedule_has_exact_shares_and_numbers_inserts_without_gaps)
{
    const struct workload *all;
    int count = workload_all(&all);

    for (int w = 0; w < count; w++) {
        struct schedule s;
        int seen[WORKLOAD_KINDS] = {0};
        if (all[w].recover) /* no operations, so no schedule */
            continue;
        schedule_make(&s, &all[w]);
        for (uint64_t i = 0; i < 10000; i++) {
            cr_assert_eq(schedule_inserts(&s, i), (uint64_t)seen[WORKLOAD_INSERT],
                         "%s at %d", all[w].name, (int)i);
            seen[schedule_kind(&s, i)]++;
        }
        for (int k = 0; k < WORKLOAD_KINDS; k++)
            cr_assert_eq(seen[k], all[w].share[k] * 100, "%s kind %d", all[w].name, k);
    }
}

/* ---- key files -------------------------------------------------------------------------------- */

static int open_text(struct keyfile *f, const char *text, size_t size, char *why)
{
    char path[] = "/tmp/pmtwin-keys-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, size), (ssize_t)size);
    close(fd);
    int error = keyfile_open(f, path, why, 256);
    unlink(path);
    return error;
}

Test(keyfile, the_last_line_may_lack_its_newline)
{
    struct keyfile f;
    char why[256];
    cr_assert_eq(open_text(&f, "one\ntwo\nthree", 13, why), 0);
    cr_assert_eq(f.count, 3);
    cr_assert_eq(f.keys[2].size, 5);
    cr_assert_eq(memcmp(f.keys[2].data, "three", 5), 0);
    cr_assert_eq(f.total_bytes, 11);
    keyfile_close(&f);
}

Test(keyfile, faults_are_named_with_their_line)
{
    static const struct {
        const char *text;
        size_t size;
        const char *said;
    } faults[] = {
        {"", 0, "is empty"},
        {"a\n\nb\n", 5, "line 2 is empty"},
        {"a\nb\0c\n", 6, "line 2 has a NUL"},
        {"a\nb\na\n", 6, "line 3 repeats line 1"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct keyfile f;
        char why[256] = "";
        cr_assert_eq(open_text(&f, faults[i].text, faults[i].size, why), -EINVAL);
        cr_assert_not_null(strstr(why, faults[i].said), "said: %s", why);
    }
}

Test(keyfile, a_line_of_64_kb_is_legal_and_one_byte_more_is_not)
{
    struct keyfile f;
    char why[256] = "", *text = malloc(STORE_BYTES_MAX + 1);
    memset(text, 'x', STORE_BYTES_MAX + 1);
    cr_assert_eq(open_text(&f, text, STORE_BYTES_MAX, why), 0);
    keyfile_close(&f);
    cr_assert_eq(open_text(&f, text, STORE_BYTES_MAX + 1, why), -EINVAL);
    cr_assert_not_null(strstr(why, "longer than 64 KB"));
    free(text);
}
