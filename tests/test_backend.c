/* Backends by name: the words they refuse, their pool files and their counters. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/device.h"
#include "backends/machine.h"
#include "backends/native.h"

enum { MIB = 1 << 20 };

static char why[BACKEND_WHY_MAX];
static char folder[] = "/tmp/pmtwin-test-XXXXXX";
static char path[64];

static struct backend_options options(void)
{
    return (struct backend_options){.pool_bytes = 3 * MIB,
                                    .volatile_bytes = MIB,
                                    .threads = 2,
                                    .node = -1,
                                    .memory_node = -1,
                                    .seed = 1};
}

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pool", folder);
}

static void drop_folder(void)
{
    unlink(path);
    rmdir(folder);
}

Test(backend, wrong_words_are_refused_with_a_sentence)
{
    struct backend_options o = options();
    cr_assert_eq(backend_check("drum", &o, why), -EINVAL);
    cr_assert_not_null(strstr(why, "'drum'"), "%s", why);
    cr_assert_eq(backend_check("emul:optane-10", &o, why), -EINVAL);
    cr_assert_not_null(strstr(why, "optane-100"), "%s", why);
    cr_assert_eq(backend_check("dram:fast", &o, why), -EINVAL);
    o.threads = 49;
    cr_assert_eq(backend_check("emul:optane-100", &o, why), -EINVAL);
    cr_assert_not_null(strstr(why, "24"), "%s", why);
    o.threads = 48;
    cr_assert_eq(backend_check("emul:optane-100", &o, why), 0, "%s", why);
    const char *sets[] = {"line_fils=8"};
    o.profile_sets = sets;
    o.profile_set_count = 1;
    cr_assert_eq(backend_check("emul", &o, why), -EINVAL);
    cr_assert_not_null(strstr(why, "line_fills"), "%s", why);
}

Test(backend, a_pool_is_rounded_up_and_reads_as_zeroes)
{
    const struct backend_options o = options();
    struct backend *b;
    cr_assert_eq(backend_open(&b, "dram", &o, why), 0, "%s", why);
    const struct pm_region *pool = backend_pool(b);
    cr_assert_eq(pool->size, 4 * MIB);
    for (uint64_t i = 0; i < pool->size; i++)
        cr_assert_eq(pool->base[i], 0);
    backend_close(b);
}

Test(backend, a_pool_file_is_kept_and_only_replaced_when_asked, .init = make_folder,
     .fini = drop_folder)
{
    struct backend_options o = options();
    struct backend *b;
    o.pool_path = path;
    cr_assert_eq(backend_open(&b, "dram", &o, why), 0, "%s", why);
    strcpy(backend_pool(b)->base + 100, "kept");
    backend_close(b);

    cr_assert_eq(backend_open(&b, "dram", &o, why), -EEXIST);
    cr_assert_not_null(strstr(why, "--reuse"), "%s", why);

    o.reuse = true;
    o.pool_bytes = 64 * MIB; /* the file's own size counts */
    cr_assert_eq(backend_open(&b, "emul", &o, why), 0, "%s", why);
    cr_assert_eq(backend_pool(b)->size, 4 * MIB);
    cr_assert_str_eq(backend_pool(b)->base + 100, "kept");
    backend_close(b);

    o.reuse = false;
    o.overwrite = true;
    o.pool_bytes = 2 * MIB;
    cr_assert_eq(backend_open(&b, "dram", &o, why), 0, "%s", why);
    cr_assert_eq(backend_pool(b)->size, 2 * MIB);
    cr_assert_eq(backend_pool(b)->base[100], 0);
    backend_close(b);
}

Test(backend, what_is_no_pool_file_is_refused, .init = make_folder, .fini = drop_folder)
{
    struct backend_options o = options();
    struct backend *b;
    o.reuse = true;
    o.pool_path = path;
    cr_assert_eq(backend_open(&b, "dram", &o, why), -ENOENT);
    o.pool_path = folder;
    cr_assert_eq(backend_open(&b, "dram", &o, why), -EINVAL);
    cr_assert_not_null(strstr(why, "a directory"), "%s", why);
    fclose(fopen(path, "w"));
    o.pool_path = path;
    cr_assert_eq(backend_open(&b, "dram", &o, why), -EINVAL);
    o.pool_path = "/nowhere/at/all/pool";
    o.reuse = false;
    cr_assert_eq(backend_open(&b, "dram", &o, why), -ENOENT);
}

static void count_some(void *arg, int self)
{
    (void)arg;
    native_counts.flush_lines += 10 + (uint64_t)self; /* as the counted door does */
    native_counts.fences++;
}

Test(backend, counters_have_the_same_names_on_every_backend)
{
    const struct backend_options o = options();
    struct window w[2];
    const char *specs[] = {"emul", "dram"};
    for (int i = 0; i < 2; i++) {
        struct backend *b;
        cr_assert_eq(backend_open(&b, specs[i], &o, why), 0, "%s", why);
        backend_begin(b, PASS_COUNTING);
        cr_assert_eq(backend_run(b, TARGET_COUNTED, 2, count_some, NULL, why), 0, "%s", why);
        backend_end(b, &w[i]);
        backend_close(b);
    }
    cr_assert_eq(w[0].counter_count, w[1].counter_count);
    for (int i = 0; i < w[0].counter_count; i++) {
        cr_assert_str_eq(w[0].counters[i].name, w[1].counters[i].name);
        const struct counter *c = &w[1].counters[i];
        cr_assert_neq(c->source == NULL, c->reason == NULL); /* known, or a reason */
    }
    cr_assert_str_eq(w[1].counters[0].name, "flush_lines");
    cr_assert_eq(w[1].counters[0].value, 21);
    cr_assert_eq(w[1].counters[2].value, 2);
    cr_assert_not(w[1].residual_known);
}

struct roll {
    int calls[64];
};

static void call(void *arg, int self)
{
    struct roll *r = arg;
    r->calls[self]++;
    cr_assert_eq(native_self, self);
}

Test(backend, more_threads_than_processors_all_run)
{
    struct backend_options o = options();
    o.threads = 64;
    struct backend *b;
    struct roll roll = {0};
    cr_assert_eq(backend_open(&b, "dram", &o, why), 0, "%s", why);
    cr_assert_eq(backend_run(b, TARGET_NATIVE, 64, call, &roll, why), 0, "%s", why);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(roll.calls[i], 1);
    cr_assert_eq(backend_run(b, TARGET_NATIVE, 0, call, &roll, why), -EINVAL);
    backend_close(b);
}

Test(backend, one_emulated_machine_at_a_time)
{
    const struct backend_options o = options();
    struct backend *b, *second;
    cr_assert_eq(backend_open(&b, "emul", &o, why), 0, "%s", why);
    cr_assert_eq(backend_open(&second, "emul", &o, why), -EBUSY);
    backend_close(b);
    cr_assert_eq(backend_open(&b, "emul", &o, why), 0, "%s", why);
    backend_close(b);
}

Test(backend, facts_are_known_or_have_a_reason)
{
    const struct machine_fact *facts;
    const int count = machine_facts(&facts);
    cr_assert(count >= 5);
    for (int i = 0; i < count; i++)
        cr_assert_neq(facts[i].value == NULL, facts[i].reason == NULL, "%s", facts[i].name);
    const struct machine_profile *profiles;
    const int known = machine_profiles(&profiles);
    cr_assert(known >= 4);
    for (int i = 1; i < known; i++)
        cr_assert(strcmp(profiles[i - 1].name, profiles[i].name) < 0);
}

Test(backend, the_device_alone_answers)
{
    double ns = 0;
    const int error = device_random("optane-100", 1 << 30, 10000, 1, &ns, why, sizeof why);
    cr_assert_eq(error, 0, "%s", why);
    cr_assert(ns > 0);
    cr_assert_eq(device_random("optane-100", 0, 10, 1, &ns, why, sizeof why), -EINVAL);
    cr_assert_neq(device_random("optane-1000", 1 << 30, 10, 1, &ns, why, sizeof why), 0);
}
