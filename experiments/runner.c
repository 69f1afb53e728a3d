/* runner.c -- what a command line asks for, checked; then one row after the other (making.c). */
#include "experiments/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/nearest.h"
#include "core/registry.h"
#include "experiments/console.h"

static const uint64_t volatile_space = UINT64_C(16) << 30;

const struct store_ops *runner_store(const char *name, char *why, size_t why_size)
{
    const struct store_ops *ops = registry_find(name, REGISTRY_NATIVE);
    const char *names[OPTIONS_LIST_MAX];
    int count = 0;

    if (ops)
        return ops;
    for (; count < registry_count() && count < OPTIONS_LIST_MAX; count++)
        names[count] = registry_store(count, REGISTRY_NATIVE)->name;
    const char *near = nearest_name(name, names, (size_t)count);
    snprintf(why, why_size, "there is no store '%s'; %s%s%s", name,
             near ? "did you mean '" : "see pmtwin list stores", near ? near : "",
             near ? "'?" : "");
    return NULL;
}

int runner_plan(const struct options *o, const struct store_ops *store, const char *spec,
                int threads, uint64_t seed, const struct keyfile *file, struct bed_plan *plan,
                char *why)
{
    *plan = (struct bed_plan){.store = store->name, .spec = spec};
    plan->backend = (struct backend_options){.pool_bytes = o->pool_bytes,
                                             .volatile_bytes = volatile_space,
                                             .threads = threads,
                                             .node = o->node,
                                             .memory_node = -1,
                                             .profile_sets = o->profile_sets,
                                             .profile_set_count = o->profile_set_count,
                                             .seed = seed};
    plan->feed = (struct feed){.key_size = o->key_size, .value_size = o->value_size, .seed = seed,
                               .file = file};
    plan->feed.fixed = !file && o->key_size == 8 && o->value_size == 8 && store->fixed;
    plan->config.fixed = plan->feed.fixed;
    return options_parameters(o, store, plan->config.parameters, why, BACKEND_WHY_MAX);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static struct row *next_row(struct rows *rows)
{
    if (rows->count == rows->room) {
        int room = rows->room ? rows->room * 2 : 16;
        struct row *more = realloc(rows->row, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        rows->row = more;
        rows->room = room;
    }
    return &rows->row[rows->count];
}

struct stores {
    const struct store_ops *ops[OPTIONS_LIST_MAX];
    int count;
};

static int find_stores(const struct options *o, struct stores *stores, char *why)
{
    char name[64];

    if (o->word_count != 1) {
        snprintf(why, BACKEND_WHY_MAX, "%s; give run STORE[,STORE..], see pmtwin list stores",
                 o->word_count ? "run takes one list of stores" : "run needs a store");
        return -EINVAL;
    }
    for (const char *rest = o->words[0]; rest;) {
        size_t length = strcspn(rest, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, rest);
        if (stores->count == OPTIONS_LIST_MAX) {
            snprintf(why, BACKEND_WHY_MAX, "more than %d stores; split the run", OPTIONS_LIST_MAX);
            return -EINVAL;
        }
        stores->ops[stores->count] = runner_store(name, why, BACKEND_WHY_MAX);
        if (!stores->ops[stores->count++])
            return -EINVAL;
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return 0;
}

/* A kind of backend that is nearly right is suggested; the rest is backend_check()'s. */
static int check_kind(const char *spec, char *why)
{
    static const char *const kinds[] = {"emul", "dram", "pmem"};
    char kind[64];

    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(spec, ":"), spec);
    const char *near = nearest_name(kind, kinds, 3);
    if (!near || strcmp(near, kind) == 0)
        return 0;
    snprintf(why, BACKEND_WHY_MAX, "there is no backend '%s'; did you mean '%s'?", kind, near);
    return -EINVAL;
}

/* Everything that can be refused before the first row is. */
static int check_all(const struct options *o, const struct stores *stores, char *why)
{
    struct bed_plan plan;
    int rows = stores->count * o->on_count * o->workload_count * o->thread_count * o->repeat;

    if ((o->pool_path || o->reuse) && rows != 1) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%s is about the pool of one row and this run has %d; give one store, backend, "
                 "workload and thread count",
                 o->reuse ? "--reuse" : "--pool", rows);
        return -EINVAL;
    }
    for (int s = 0; s < stores->count; s++)
        for (int b = 0; b < o->on_count; b++)
            for (int t = 0; t < o->thread_count; t++) {
                int error = runner_plan(o, stores->ops[s], o->on[b], o->threads[t], o->seed, NULL,
                                        &plan, why);
                plan.backend.pool_path = o->pool_path;
                plan.backend.reuse = o->reuse;
                plan.backend.overwrite = o->overwrite;
                if (!error)
                    error = check_kind(o->on[b], why);
                if (!error)
                    error = backend_check(o->on[b], &plan.backend, why);
                if (error)
                    return error;
            }
    return 0;
}

/* Whether a row of this run has made that spec's pool. */
static bool made_before(const struct rows *rows, const char *spec)
{
    for (int i = 0; i < rows->count; i++)
        if (!rows->row[i].skipped && strcmp(rows->row[i].spec, spec) == 0)
            return true;
    return false;
}

/* The rows of one store and workload, backends next to each other. */
static int run_group(const struct options *o, const struct store_ops *store,
                     const struct workload *workload, const struct keyfile *file, struct rows *rows,
                     char *why)
{
    for (int t = 0; t < o->thread_count; t++)
        for (int repeat = 0; repeat < o->repeat; repeat++)
            for (int b = 0; b < o->on_count; b++) {
                struct row *row = next_row(rows);
                if (!row) {
                    snprintf(why, BACKEND_WHY_MAX, "not enough memory for the results");
                    return -ENOMEM;
                }
                const struct runner_job job = {.store = store,
                                               .spec = o->on[b],
                                               .workload = workload,
                                               .threads = o->threads[t],
                                               .repeat = repeat,
                                               .file = file,
                                               .again = made_before(rows, o->on[b])};
                int error = runner_row(o, &job, row, why);
                row->column = b;
                if (error)
                    return error;
                rows->count++;
            }
    return 0;
}

int runner_run(const struct options *o, struct rows *rows, char *why)
{
    struct stores stores = {0};
    struct keyfile file = {0};
    int error = find_stores(o, &stores, why);

    if (!error)
        error = check_all(o, &stores, why);
    if (!error && o->keys_path)
        error = keyfile_open(&file, o->keys_path, why, BACKEND_WHY_MAX);
    for (int s = 0; s < stores.count && !error; s++)
        for (int w = 0; w < o->workload_count && !error; w++)
            error = run_group(o, stores.ops[s], o->workloads[w], o->keys_path ? &file : NULL, rows,
                              why);
    console_clear();
    if (o->keys_path)
        keyfile_close(&file);
    return error;
}
