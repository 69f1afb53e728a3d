/* test_profile.c -- profiles: the built-in ones load, and every mistake is named with its place. */
#include "model/profile.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char why[512];

/* Loads a profile of this text; why names the file "t.profile" in a directory of its own. */
static int load(struct profile *p, const char *text)
{
    char dir[] = "/tmp/profile-XXXXXX", path[64];

    cr_assert(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/t.profile", dir);
    FILE *f = fopen(path, "w");

    cr_assert(f != NULL);
    fputs(text, f);
    fclose(f);
    why[0] = '\0';
    int rc = profile_load(p, path, why, sizeof why);

    unlink(path);
    rmdir(dir);
    return rc;
}

static void expect_error(const char *text, const char *first, const char *second)
{
    struct profile p;

    cr_assert_eq(load(&p, text), -EINVAL, "accepted: %s", text);
    cr_assert(strstr(why, first) && strstr(why, second), "says: %s", why);
}

Test(profile, every_built_in_profile_loads_and_has_a_summary)
{
    struct profile p;

    cr_assert_geq(profile_count(), 4);
    for (int i = 0; i < profile_count(); i++) {
        const char *name, *summary;

        cr_assert_eq(profile_builtin(i, &name, &summary), 0);
        cr_assert_eq(profile_load(&p, name, why, sizeof why), 0, "%s", why);
        cr_assert_str_eq(p.name, name);
        cr_assert_gt(strlen(summary), 20);
    }
    const char *none;

    cr_assert_eq(profile_builtin(profile_count(), &none, &none), -EINVAL);
}

Test(profile, a_base_is_overridden_line_by_line)
{
    struct profile base, p;

    cr_assert_eq(profile_load(&base, "optane-100", why, sizeof why), 0);
    cr_assert_eq(load(&p, "# slow\nbase optane-100\nmedia_write 1234.567 ns # ours\n"), 0, "%s", why);
    cr_assert_eq(p.media_write, 1234567);
    cr_assert_eq(p.media_read, base.media_read);
    cr_assert_eq(base.media_read, 36500);
    cr_assert_eq(base.background, 36000);
}

Test(profile, mistakes_are_named_with_file_line_and_key)
{
    expect_error("base optane-100\nmedia_wirte 1 ns\n", "t.profile:2: key media_wirte",
                 "nearest is media_write");
    expect_error("base optane-100\nwpq 1 count\nwpq 2 count\n", "t.profile:3: key wpq", "twice");
    expect_error("base optane-100\nwpq -1 count\n", "t.profile:2: key wpq", "negative");
    expect_error("base optane-100\nwpq many count\n", "t.profile:2: key wpq", "not a number");
    expect_error("base optane-100\nwpq 1.5 count\n", "t.profile:2: key wpq", "not a number");
    expect_error("base optane-100\nmedia_read 1 us\n", "t.profile:2: key media_read",
                 "should be ns");
    expect_error("base optane-100\nmedia_read 1\n", "t.profile:2: key media_read", "should be ns");
    expect_error("base optane-100\nmedia_read\n", "t.profile:2: key media_read", "no value");
    expect_error("base optane-100\nmedia 2 flag\n", "t.profile:2: key media", "not a flag");
    expect_error("base nothing\n", "t.profile:1: key base", "nothing");
    expect_error("wpq 64 count\nbase optane-100\n", "t.profile:2: key base", "first");
    expect_error("wpq 64 count\n", "t.profile: key sockets", "missing");
}

Test(profile, a_name_that_is_not_built_in_is_no_path)
{
    struct profile p;

    cr_assert_eq(profile_load(&p, "optane-1000", why, sizeof why), -ENOENT);
    cr_assert_eq(profile_load(&p, "./no/such.profile", why, sizeof why), -ENOENT);
    cr_assert(strstr(why, "./no/such.profile") != NULL);
}

Test(profile, one_number_can_be_set)
{
    struct profile p;

    cr_assert_eq(profile_load(&p, "dram", why, sizeof why), 0);
    cr_assert_eq(profile_set(&p, "dram_latency=101.5", why, sizeof why), 0);
    cr_assert_eq(p.dram_latency, 101500);
    cr_assert_eq(profile_set(&p, "dram_latencey=1", why, sizeof why), -EINVAL);
    cr_assert(strstr(why, "dram_latency") != NULL);
    cr_assert_eq(profile_set(&p, "dram_latency", why, sizeof why), -EINVAL);
    cr_assert_eq(profile_set(&p, "dram_latency=99999999999999999999", why, sizeof why), -EINVAL);
    cr_assert_eq(p.dram_latency, 101500);
}
