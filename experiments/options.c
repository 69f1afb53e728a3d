/* options.c -- one table of options: name, who knows it, how its text becomes a value. */
#include "experiments/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/nearest.h"

struct fault {
    char *why;
    size_t size;
};

struct option {
    const char *name, *operand, *what;
    int commands;
    int (*read)(struct options *o, const char *text, struct fault *f);
};

int options_number(const char *text, uint64_t *value)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } suffixes[] = {
        {"", 1},
        {"k", 1000},
        {"M", 1000000},
        {"G", 1000000000},
        {"Ki", UINT64_C(1) << 10},
        {"Mi", UINT64_C(1) << 20},
        {"Gi", UINT64_C(1) << 30},
    };
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return -EINVAL;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (errno)
        return -ERANGE;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(end, suffixes[i].suffix) == 0)
            return __builtin_mul_overflow(number, suffixes[i].factor, value) ? -ERANGE : 0;
    return -EINVAL;
}

static int read_number(const char *name, const char *text, uint64_t min, uint64_t max,
                       uint64_t *value, struct fault *f)
{
    int error = options_number(text, value);

    if (error == 0 && *value >= min && *value <= max)
        return 0;
    if (error == -EINVAL)
        snprintf(f->why, f->size,
                 "--%s %s: not a count; give a whole number, with k M G Ki Mi Gi if you like", name,
                 text);
    else
        snprintf(f->why, f->size, "--%s %s: out of range; give %" PRIu64 " to %" PRIu64, name, text,
                 min, max);
    return -EINVAL;
}

/* The next item of a comma list, copied; NULL at the end. */
static const char *next_item(struct options *o, const char **rest)
{
    if (!*rest)
        return NULL;
    size_t length = strcspn(*rest, ",");
    char *item = o->copy + o->copy_used;
    memcpy(item, *rest, length);
    item[length] = 0;
    o->copy_used += length + 1;
    *rest = (*rest)[length] ? *rest + length + 1 : NULL;
    return item;
}

static int too_many(const char *what, struct fault *f)
{
    snprintf(f->why, f->size, "%s: more than %d in the list; split the run", what, OPTIONS_LIST_MAX);
    return -EINVAL;
}

static int read_on(struct options *o, const char *text, struct fault *f)
{
    const char *item;

    o->on_count = 0;
    while ((item = next_item(o, &text))) {
        if (o->on_count == OPTIONS_LIST_MAX)
            return too_many("--on", f);
        o->on[o->on_count++] = strcmp(item, "emul") == 0 ? "emul:optane-100" : item;
    }
    return 0;
}

static int unknown_workload(const char *item, struct fault *f)
{
    const struct workload *all;
    const char *names[OPTIONS_LIST_MAX];
    int count = workload_all(&all);

    for (int i = 0; i < count; i++)
        names[i] = all[i].name;
    const char *near = nearest_name(item, names, (size_t)count);
    snprintf(f->why, f->size, "there is no workload '%s'; %s%s%s", item,
             near ? "did you mean '" : "see pmtwin list workloads", near ? near : "",
             near ? "'?" : "");
    return -EINVAL;
}

static int read_workload(struct options *o, const char *text, struct fault *f)
{
    const char *item;

    o->workload_count = 0;
    while ((item = next_item(o, &text))) {
        if (o->workload_count == OPTIONS_LIST_MAX)
            return too_many("--workload", f);
        o->workloads[o->workload_count] = workload_find(item);
        if (!o->workloads[o->workload_count++])
            return unknown_workload(item, f);
    }
    return 0;
}

static int read_threads(struct options *o, const char *text, struct fault *f)
{
    const char *item;
    uint64_t n;

    o->thread_count = 0;
    while ((item = next_item(o, &text))) {
        if (o->thread_count == OPTIONS_LIST_MAX)
            return too_many("--threads", f);
        if (read_number("threads", item, 1, OPTIONS_THREADS_MAX, &n, f))
            return -EINVAL;
        o->threads[o->thread_count++] = (int)n;
    }
    return 0;
}

static int read_records(struct options *o, const char *text, struct fault *f)
{
    o->records_given = true;
    return read_number("records", text, 0, UINT64_C(1) << 40, &o->records, f);
}

static int read_operations(struct options *o, const char *text, struct fault *f)
{
    o->operations_given = true;
    return read_number("operations", text, 1, UINT64_C(1) << 40, &o->operations, f);
}

static int read_distribution(struct options *o, const char *text, struct fault *f)
{
    char *end;

    o->distribution_given = true;
    o->theta = 0.99;
    if (strcmp(text, "uniform") == 0) {
        o->distribution = KEYS_UNIFORM;
        return 0;
    }
    o->distribution = strcmp(text, "latest") == 0 ? KEYS_LATEST : KEYS_ZIPFIAN;
    if (strcmp(text, "latest") == 0 || strcmp(text, "zipfian") == 0)
        return 0;
    if (strncmp(text, "zipfian:", 8) == 0 && isdigit((unsigned char)text[8])) {
        o->theta = strtod(text + 8, &end);
        if (*end == 0 && o->theta > 0 && o->theta <= 100)
            return 0;
    }
    static const char *const names[] = {"uniform", "zipfian", "latest"};
    char head[64];
    snprintf(head, sizeof head, "%.*s", (int)strcspn(text, ":"), text);
    const char *near = nearest_name(head, names, 3);
    if (near && strcmp(near, head) != 0)
        snprintf(f->why, f->size, "there is no distribution '%s'; did you mean '%s'?", text, near);
    else
        snprintf(f->why, f->size,
                 "--distribution %s: give uniform, zipfian[:THETA] with 0 < THETA <= 100, or latest",
                 text);
    return -EINVAL;
}

static int read_seed(struct options *o, const char *text, struct fault *f)
{
    return read_number("seed", text, 0, UINT64_MAX, &o->seed, f);
}

static int read_size(const char *name, uint32_t *size, const char *text, struct fault *f)
{
    uint64_t n;
    int error = read_number(name, text, 1, STORE_BYTES_MAX, &n, f);
    if (!error)
        *size = (uint32_t)n;
    return error;
}

static int read_key_size(struct options *o, const char *text, struct fault *f)
{
    return read_size("key-size", &o->key_size, text, f);
}

static int read_value_size(struct options *o, const char *text, struct fault *f)
{
    return read_size("value-size", &o->value_size, text, f);
}

static int read_pool_size(struct options *o, const char *text, struct fault *f)
{
    return read_number("pool-size", text, UINT64_C(1) << 20, UINT64_C(1) << 41, &o->pool_bytes, f);
}

static int read_repeat(struct options *o, const char *text, struct fault *f)
{
    uint64_t n;
    int error = read_number("repeat", text, 1, 1000000, &n, f);
    if (!error)
        o->repeat = (int)n;
    return error;
}

static int read_node(struct options *o, const char *text, struct fault *f)
{
    uint64_t n;
    int error = read_number("node", text, 0, 63, &n, f);
    if (!error)
        o->node = (int)n;
    return error;
}

static int read_path(const char **path, const char *name, const char *text, struct fault *f)
{
    *path = text;
    if (*text)
        return 0;
    snprintf(f->why, f->size, "--%s: the name is empty; give a file", name);
    return -EINVAL;
}

static int read_keys(struct options *o, const char *text, struct fault *f)
{
    return read_path(&o->keys_path, "keys", text, f);
}

static int read_pool(struct options *o, const char *text, struct fault *f)
{
    return read_path(&o->pool_path, "pool", text, f);
}

static int read_output(struct options *o, const char *text, struct fault *f)
{
    return read_path(&o->output_path, "output", text, f);
}

static int read_reuse(struct options *o, const char *text, struct fault *f)
{
    (void)text, (void)f;
    o->reuse = true;
    return 0;
}

static int read_overwrite(struct options *o, const char *text, struct fault *f)
{
    (void)text, (void)f;
    o->overwrite = true;
    return 0;
}

static int read_pair(const char *name, const char **list, int *count, const char *text,
                     struct fault *f)
{
    if (*count == OPTIONS_LIST_MAX)
        return too_many(name, f);
    if (!strchr(text, '=') || text[0] == '=') {
        snprintf(f->why, f->size, "%s %s: not a setting; give NAME=VALUE", name, text);
        return -EINVAL;
    }
    list[(*count)++] = text;
    return 0;
}

static int read_set(struct options *o, const char *text, struct fault *f)
{
    return read_pair("--set", o->sets, &o->set_count, text, f);
}

static int read_profile_set(struct options *o, const char *text, struct fault *f)
{
    return read_pair("--profile-set", o->profile_sets, &o->profile_set_count, text, f);
}

static int read_format(struct options *o, const char *text, struct fault *f)
{
    static const char *const names[] = {"table", "csv", "json"};

    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            o->format = (enum options_format)i;
            return 0;
        }
    const char *near = nearest_name(text, names, 3);
    snprintf(f->why, f->size, "there is no format '%s'; %s%s%s", text,
             near ? "did you mean '" : "give table, csv or json", near ? near : "",
             near ? "'?" : "");
    return -EINVAL;
}

enum { R = COMMAND_RUN, B = COMMAND_BENCH, X = COMMAND_EXPLAIN, L = COMMAND_LIST };

static const struct option table[] = {
    {"on", "BACKEND[,..]", "emul[:PROFILE], dram or pmem:PATH (a file, a directory,\n"
     "                             /dev/daxN.M); default emul:optane-100", R | X, read_on},
    {"workload", "NAME[,..]", "see pmtwin list workloads; default insert,read", R, read_workload},
    {"records", "N", "records loaded before (k M G Ki Mi Gi); run, bench 10M, explain 1M",
     R | B | X, read_records},
    {"operations", "N", "measured operations; default 1M", R | B, read_operations},
    {"threads", "N[,..]", "workers; default 1", R, read_threads},
    {"distribution", "NAME", "uniform, zipfian[:THETA] or latest; default: the workload's", R,
     read_distribution},
    {"seed", "N", "of keys and model; default 1", R | B | X, read_seed},
    {"key-size", "N", "bytes, default 8; 8-byte pairs are stored inline", R, read_key_size},
    {"value-size", "N", "bytes, default 8", R, read_value_size},
    {"keys", "FILE", "real keys, one per line", R, read_keys},
    {"pool", "FILE", "keep the pool in a file; for a run of one row", R, read_pool},
    {"pool-size", "N", "bytes of pool; default: what the store may need", R | X, read_pool_size},
    {"reuse", NULL, "go on with the store in --pool FILE or pmem:FILE", R, read_reuse},
    {"overwrite", NULL, "replace --pool FILE or pmem:FILE", R, read_overwrite},
    {"node", "N", "socket of the first worker; default 0", R, read_node},
    {"set", "NAME=VALUE", "a parameter of the store; see pmtwin list stores", R | X, read_set},
    {"profile-set", "NAME=VALUE", "a parameter of the profile", R | X, read_profile_set},
    {"repeat", "N", "runs of every row, with seeds N, N+1, ..; default 1", R, read_repeat},
    {"format", "NAME", "table, csv (run only) or json", R | B | X | L, read_format},
    {"output", "FILE", "write results there instead of to standard output", R | B | X | L,
     read_output},
};

enum { OPTIONS = sizeof table / sizeof table[0] };

void options_help(enum options_command command)
{
    for (int i = 0; i < OPTIONS; i++) {
        char head[40];
        if (!(table[i].commands & (int)command))
            continue;
        snprintf(head, sizeof head, "--%s %s", table[i].name,
                 table[i].operand ? table[i].operand : "");
        printf("  %-26s %s\n", head, table[i].what);
    }
}

static const struct option *find_option(const char *name, enum options_command command,
                                        struct fault *f)
{
    const char *names[OPTIONS];
    size_t count = 0;

    for (int i = 0; i < OPTIONS; i++) {
        if (!(table[i].commands & (int)command))
            continue;
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
        names[count++] = table[i].name;
    }
    const char *near = nearest_name(name, names, count);
    snprintf(f->why, f->size, "there is no option '--%s'; %s%s%s", name,
             near ? "did you mean '--" : "see pmtwin help", near ? near : "", near ? "'?" : "");
    return NULL;
}

/* One argument that begins with "--"; *at moves past its operand. */
static int read_option(struct options *o, enum options_command command, int argc, char **argv,
                       int *at, struct fault *f)
{
    const char *argument = argv[*at] + 2, *equals = strchr(argument, '=');
    const char *text = equals ? equals + 1 : NULL;
    char name[64];

    snprintf(name, sizeof name, "%.*s",
             (int)(equals ? equals - argument : (ptrdiff_t)strlen(argument)), argument);
    const struct option *option = find_option(name, command, f);
    if (!option)
        return -EINVAL;
    if (!option->operand && text) {
        snprintf(f->why, f->size, "--%s takes no value; leave out '=%s'", name, text);
        return -EINVAL;
    }
    if (option->operand && !text) {
        if (*at + 1 == argc) {
            snprintf(f->why, f->size, "--%s has no value; give --%s %s", name, name,
                     option->operand);
            return -EINVAL;
        }
        text = argv[++*at];
    }
    return option->read(o, text, f);
}

static int check_together(const struct options *o, enum options_command command, struct fault *f)
{
    const char *fault = NULL;

    bool pmem = false;
    for (int i = 0; i < o->on_count; i++)
        pmem |= strncmp(o->on[i], "pmem:", 5) == 0;
    if ((o->reuse || o->overwrite) && !o->pool_path && !pmem)
        fault = "--reuse and --overwrite are about a pool's file; give --pool FILE or pmem:FILE";
    else if (o->reuse && o->overwrite)
        fault = "--reuse and --overwrite exclude each other; give one";
    else if (o->reuse && o->pool_bytes)
        fault = "--pool-size: a reused pool keeps its size; leave it out";
    else if (o->format == FORMAT_CSV && command != COMMAND_RUN)
        fault = "--format csv is for run; give table or json";
    if (!fault)
        return 0;
    snprintf(f->why, f->size, "%s", fault);
    return -EINVAL;
}

static size_t text_bytes(int argc, char **argv)
{
    size_t bytes = 64;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 2;
    return bytes;
}

int options_read(struct options *o, enum options_command command, int argc, char **argv, char *why,
                 size_t why_size)
{
    struct fault f = {why, why_size};
    int error = 0;

    *o = (struct options){.records = command == COMMAND_EXPLAIN ? 1000000 : 10000000,
                          .operations = 1000000,
                          .seed = 1,
                          .key_size = 8,
                          .value_size = 8,
                          .node = -1,
                          .repeat = 1,
                          .on = {"emul:optane-100"},
                          .on_count = 1,
                          .workloads = {workload_find("insert"), workload_find("read")},
                          .workload_count = 2,
                          .threads = {1},
                          .thread_count = 1};
    o->copy = malloc(text_bytes(argc, argv));
    if (!o->copy) {
        snprintf(why, why_size, "not enough memory for the command line");
        return -ENOMEM;
    }
    for (int at = 0; at < argc && !error; at++) {
        if (strncmp(argv[at], "--", 2) == 0 && argv[at][2])
            error = read_option(o, command, argc, argv, &at, &f);
        else if (argv[at][0] == '-' && !isdigit((unsigned char)argv[at][1])) {
            snprintf(why, why_size, "there is no option '%s'; options begin with --", argv[at]);
            error = -EINVAL;
        } else if (o->word_count == OPTIONS_LIST_MAX)
            error = too_many("the command line", &f);
        else
            o->words[o->word_count++] = argv[at];
    }
    return error ? error : check_together(o, command, &f);
}

void options_free(struct options *o)
{
    free(o->copy);
    o->copy = NULL;
}

/* ---- --set ---------------------------------------------------------------------------------- */

static int parameter_value(const struct store_parameter *p, const char *text, uint64_t *value)
{
    for (uint64_t i = 0; p->words && p->words[i]; i++)
        if (strcmp(p->words[i], text) == 0) {
            *value = i;
            return 0;
        }
    if (p->words)
        return -EINVAL;
    if (options_number(text, value) || *value < p->min || *value > p->max ||
        (p->power_of_two && (*value & (*value - 1))))
        return -EINVAL;
    return 0;
}

static int refuse_value(const struct store_parameter *p, const char *text, char *why, size_t size)
{
    int n = snprintf(why, size, "--set %s=%s: ", p->name, text);
    size_t used = n > 0 && (size_t)n < size ? (size_t)n : 0;

    if (!p->words) {
        snprintf(why + used, size - used, "give %s%" PRIu64 " to %" PRIu64,
                 p->power_of_two ? "a power of two, " : "", p->min, p->max);
        return -EINVAL;
    }
    snprintf(why + used, size - used, "give %s", p->words[0]);
    for (int i = 1; p->words[i]; i++) {
        used = strlen(why);
        snprintf(why + used, size - used, "%s%s", p->words[i + 1] ? ", " : " or ", p->words[i]);
    }
    return -EINVAL;
}

static int set_one(const struct store_ops *ops, const char *pair,
                   uint64_t parameters[STORE_PARAMETERS_MAX], char *why, size_t why_size)
{
    const char *names[STORE_PARAMETERS_MAX], *text = strchr(pair, '=') + 1;
    char name[64];
    size_t count = 0;

    snprintf(name, sizeof name, "%.*s", (int)(text - pair - 1), pair);
    for (const struct store_parameter *p = ops->parameters; p && p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return parameter_value(p, text, &parameters[count]) ? refuse_value(p, text, why, why_size)
                                                                : 0;
        names[count++] = p->name;
    }
    const char *near = nearest_name(name, names, count);
    snprintf(why, why_size, "%s has no parameter '%s'; %s%s%s", ops->name, name,
             near ? "did you mean '" : "see pmtwin list stores", near ? near : "",
             near ? "'?" : "");
    return -EINVAL;
}

int options_parameters(const struct options *o, const struct store_ops *ops,
                       uint64_t parameters[STORE_PARAMETERS_MAX], char *why, size_t why_size)
{
    int n = 0, error = 0;

    for (const struct store_parameter *p = ops->parameters; p && p->name; p++)
        parameters[n++] = p->value;
    for (int i = 0; i < o->set_count && !error; i++)
        error = set_one(ops, o->sets[i], parameters, why, why_size);
    return error;
}
