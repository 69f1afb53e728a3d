/* options.h -- the command line of run, bench and explain, read and checked.
 *
 *     argv -> options_read() -> struct options      every name in it exists, every number is in range
 *
 * Threads: none. Errors: -EINVAL and one line in why: what, why, what to do; a name that is nearly
 * right is suggested.
 */
#ifndef EXPERIMENTS_OPTIONS_H
#define EXPERIMENTS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store.h"
#include "experiments/keys.h"
#include "experiments/workload.h"

enum { OPTIONS_LIST_MAX = 32, OPTIONS_THREADS_MAX = 4096 };

enum options_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

/* Which command reads: each knows some of the options. */
enum options_command { COMMAND_RUN = 1, COMMAND_BENCH = 2, COMMAND_EXPLAIN = 4, COMMAND_LIST = 8 };

struct options {
    const char *words[OPTIONS_LIST_MAX]; /* what is not an option, in order */
    int word_count;
    const char *on[OPTIONS_LIST_MAX];
    int on_count;
    const struct workload *workloads[OPTIONS_LIST_MAX];
    int workload_count;
    int threads[OPTIONS_LIST_MAX];
    int thread_count;
    uint64_t records, operations, seed, pool_bytes;
    bool records_given, operations_given;
    uint32_t key_size, value_size;
    bool distribution_given;
    enum key_distribution distribution;
    double theta;
    const char *keys_path, *pool_path, *output_path;
    bool reuse, overwrite;
    int node, repeat;
    const char *sets[OPTIONS_LIST_MAX], *profile_sets[OPTIONS_LIST_MAX];
    int set_count, profile_set_count;
    enum options_format format;
    char *copy; /* the lists point into it */
    size_t copy_used;
};

int options_read(struct options *o, enum options_command command, int argc, char **argv, char *why,
                 size_t why_size);
void options_free(struct options *o);

/* A whole number with a suffix k M G (thousands) or Ki Mi Gi (1024s). */
int options_number(const char *text, uint64_t *value);

/* Applies --set to a store's parameters; the first fault in why. */
int options_parameters(const struct options *o, const struct store_ops *ops,
                       uint64_t parameters[STORE_PARAMETERS_MAX], char *why, size_t why_size);

/* The line of --help for every option that command knows. */
void options_help(enum options_command command);

#endif
