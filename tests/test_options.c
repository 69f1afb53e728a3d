/* test_options.c -- the command line: what is read, what is refused and in which words. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "backends/nearest.h"
#include "experiments/options.h"

static char why[512];

/* Reads one line split at spaces. */
static int read_line(struct options *o, enum options_command command, const char *line)
{
    static char copy[1024];
    char *argv[64];
    int argc = 0;

    strcpy(copy, line);
    why[0] = 0;
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return options_read(o, command, argc, argv, why, sizeof why);
}

Test(options, the_defaults_are_the_main_job)
{
    struct options o;
    cr_assert_eq(read_line(&o, COMMAND_RUN, "esh"), 0);
    cr_assert_eq(o.records, 10000000);
    cr_assert_eq(o.operations, 1000000);
    cr_assert_str_eq(o.on[0], "emul:optane-100");
    cr_assert_eq(o.workload_count, 2);
    cr_assert_str_eq(o.workloads[0]->name, "insert");
    cr_assert_str_eq(o.workloads[1]->name, "read");
    options_free(&o);
}

Test(options, lists_and_both_ways_to_give_a_value_are_read)
{
    struct options o;
    cr_assert_eq(read_line(&o, COMMAND_RUN,
                           "esh --on=emul:ideal,dram --threads 1,24 --workload update,ycsb-a "
                           "--set a=1 --set b=2 --records=10Ki --distribution zipfian:1.2"),
                 0);
    cr_assert_eq(o.on_count, 2);
    cr_assert_str_eq(o.on[1], "dram");
    cr_assert_eq(o.threads[1], 24);
    cr_assert_str_eq(o.workloads[1]->name, "ycsb-a");
    cr_assert_eq(o.set_count, 2);
    cr_assert_eq(o.records, 10240);
    cr_assert_eq(o.distribution, KEYS_ZIPFIAN);
    cr_assert_float_eq(o.theta, 1.2, 1e-12);
    options_free(&o);
}

Test(options, numbers_take_suffixes_and_refuse_everything_else)
{
    uint64_t n;
    cr_assert(options_number("10M", &n) == 0 && n == 10000000);
    cr_assert(options_number("2Gi", &n) == 0 && n == UINT64_C(2) << 30);
    cr_assert(options_number("0", &n) == 0 && n == 0);
    cr_assert(options_number("18446744073709551615", &n) == 0 && n == UINT64_MAX);
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1e6", "1.5", "k", "1K", "1kk", "0x10"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert_eq(options_number(wrong[i], &n), -EINVAL, "%s", wrong[i]);
    cr_assert_eq(options_number("18446744073709551616", &n), -ERANGE);
    cr_assert_eq(options_number("18446744073709551615k", &n), -ERANGE);
}

Test(options, what_is_wrong_is_said_in_one_line_with_advice)
{
    static const struct {
        const char *line, *said;
    } wrong[] = {
        {"esh --recrods 5", "did you mean '--records'?"},
        {"esh --workload inzert", "did you mean 'insert'?"},
        {"esh --distribution unifrom", "did you mean 'uniform'?"},
        {"esh --distribution zipfian:0", "0 < THETA"},
        {"esh --distribution zipfian:nan", "0 < THETA"},
        {"esh --format jsn", "did you mean 'json'?"},
        {"esh --operations 0", "out of range"},
        {"esh --threads 0", "out of range"},
        {"esh --threads 1,,2", "not a count"},
        {"esh --records -5", "not a count"},
        {"esh --records 99999999999999999999", "out of range"},
        {"esh --key-size 65537", "1 to 65536"},
        {"esh --records", "no value"},
        {"esh --reuse=1 --pool x", "takes no value"},
        {"esh --reuse", "--pool FILE"},
        {"esh --reuse --overwrite --pool x", "exclude"},
        {"esh --set x", "NAME=VALUE"},
        {"esh -x", "begin with --"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct options o;
        cr_assert_eq(read_line(&o, COMMAND_RUN, wrong[i].line), -EINVAL, "%s", wrong[i].line);
        cr_assert_not_null(strstr(why, wrong[i].said), "%s said: %s", wrong[i].line, why);
        cr_assert_null(strchr(why, '\n'));
        options_free(&o);
    }
}

Test(options, a_command_refuses_the_options_of_another)
{
    struct options o;
    cr_assert_eq(read_line(&o, COMMAND_BENCH, "--threads 5"), -EINVAL);
    options_free(&o);
    cr_assert_eq(read_line(&o, COMMAND_BENCH, "--records 5"), 0);
    options_free(&o);
}

Test(options, parameters_are_checked_against_the_store)
{
    static const char *const words[] = {"slow", "fast", NULL};
    static const struct store_parameter parameters[] = {
        {.name = "size", .value = 4, .min = 2, .max = 8, .power_of_two = true},
        {.name = "mode", .max = 1, .words = words},
        {.name = NULL}};
    static const struct store_ops ops = {.name = "toy", .parameters = parameters};
    uint64_t values[STORE_PARAMETERS_MAX];
    struct options o = {.sets = {"size=8", "mode=fast"}, .set_count = 2};

    cr_assert_eq(options_parameters(&o, &ops, values, why, sizeof why), 0);
    cr_assert(values[0] == 8 && values[1] == 1);
    o.sets[0] = "size=9";
    cr_assert_eq(options_parameters(&o, &ops, values, why, sizeof why), -EINVAL);
    cr_assert_not_null(strstr(why, "a power of two, 2 to 8"));
    o.sets[0] = "size=6";
    cr_assert_eq(options_parameters(&o, &ops, values, why, sizeof why), -EINVAL);
    o.sets[0] = "mode=quick";
    cr_assert_eq(options_parameters(&o, &ops, values, why, sizeof why), -EINVAL);
    cr_assert_not_null(strstr(why, "slow or fast"));
    o.sets[0] = "sise=2";
    cr_assert_eq(options_parameters(&o, &ops, values, why, sizeof why), -EINVAL);
    cr_assert_not_null(strstr(why, "did you mean 'size'?"));
}

Test(options, distances_are_counted_and_far_names_are_not_suggested)
{
    static const char *const names[] = {"insert", "read", "delete"};
    cr_assert_eq(nearest_distance("kitten", "sitting"), 3);
    cr_assert_eq(nearest_distance("", "abc"), 3);
    cr_assert_eq(nearest_distance("same", "same"), 0);
    cr_assert_str_eq(nearest_name("delte", names, 3), "delete");
    cr_assert_null(nearest_name("zzzzzz", names, 3));
}
