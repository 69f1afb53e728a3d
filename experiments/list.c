/* list.c -- what there is: stores with their parameters, profiles, workloads, counters. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/machine.h"
#include "backends/nearest.h"
#include "core/registry.h"
#include "experiments/commands.h"
#include "experiments/report.h"

static const struct {
    const char *name, *what;
} counters[] = {
    {"payload_bytes", "key + value of inserts and updates that succeeded"},
    {"read_payload_bytes", "key + value of reads that found a record"},
    {"flush_lines", "64-byte lines flushed by the program"},
    {"stream_lines", "64-byte lines written past the caches"},
    {"fences", "fences executed"},
    {"evict_lines", "dirty lines that the caches evicted"},
    {"imc_read_bytes", "bytes the memory controller read from the DIMMs"},
    {"imc_write_bytes", "bytes the memory controller sent to the DIMMs"},
    {"media_read_bytes", "bytes read from the media"},
    {"media_write_bytes", "bytes written to the media"},
    {"dram_read_bytes", "bytes read from volatile memory"},
    {"dram_write_bytes", "bytes written to volatile memory"},
};
enum { COUNTERS = sizeof counters / sizeof counters[0] };

/* One item, to either form. */
static void item(struct json_object *array, FILE *out, const char *name, const char *what)
{
    if (!array) {
        fprintf(out, "  %-18s %s\n", name, what);
        return;
    }
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "name", json_object_new_string(name));
    json_object_object_add(object, "summary", json_object_new_string(what));
    json_object_array_add(array, object);
}

static void list_parameters(const struct store_ops *ops, FILE *out)
{
    char value[32];

    for (const struct store_parameter *p = ops->parameters; p && p->name; p++) {
        fprintf(out, "    %-14s %s; default %s", p->name, p->what,
                report_parameter(p, p->value, value));
        if (p->words)
            for (int i = 0; p->words[i]; i++)
                fprintf(out, "%s%s", i ? ", " : " of ", p->words[i]);
        else
            fprintf(out, ", %" PRIu64 " to %" PRIu64, p->min, p->max);
        fputc('\n', out);
    }
}

static void list_stores(struct json_object *array, FILE *out)
{
    for (int i = 0; i < registry_count(); i++) {
        const struct store_ops *ops = registry_store(i, REGISTRY_NATIVE);
        item(array, out, ops->name, ops->summary);
        if (!array)
            list_parameters(ops, out);
    }
}

static void list_profiles(struct json_object *array, FILE *out)
{
    const struct machine_profile *profiles;
    int count = machine_profiles(&profiles);

    for (int i = 0; i < count; i++)
        item(array, out, profiles[i].name, profiles[i].summary);
}

static void list_workloads(struct json_object *array, FILE *out)
{
    const struct workload *all;
    int count = workload_all(&all);

    for (int i = 0; i < count; i++)
        item(array, out, all[i].name, all[i].summary);
}

static void list_counters(struct json_object *array, FILE *out)
{
    for (int i = 0; i < COUNTERS; i++)
        item(array, out, counters[i].name, counters[i].what);
}

static const char *const kinds[] = {"stores", "profiles", "workloads", "counters"};
static void (*const listers[])(struct json_object *array, FILE *out) = {
    list_stores, list_profiles, list_workloads, list_counters};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int unknown_kind(const char *word, char *why)
{
    const char *near = nearest_name(word, kinds, KINDS);

    snprintf(why, BACKEND_WHY_MAX, "there is no list '%s'; %s%s%s", word,
             near ? "did you mean '" : "give stores, profiles, workloads or counters",
             near ? near : "", near ? "'?" : "");
    return -EINVAL;
}

int command_list(const struct options *o, FILE *out, char *why)
{
    const char *word = o->word_count ? o->words[0] : NULL;
    struct json_object *all = NULL;
    bool found = !word;

    if (o->word_count > 1) {
        snprintf(why, BACKEND_WHY_MAX, "list takes one word; give %s or nothing", word);
        return -EINVAL;
    }
    for (int i = 0; i < KINDS; i++)
        found |= word && strcmp(word, kinds[i]) == 0;
    if (!found)
        return unknown_kind(word, why);
    if (o->format == FORMAT_JSON)
        all = json_object_new_object();
    for (int i = 0; i < KINDS; i++) {
        if (word && strcmp(word, kinds[i]) != 0)
            continue;
        struct json_object *array = all ? json_object_new_array() : NULL;
        if (!all)
            fprintf(out, "%s\n", kinds[i]);
        listers[i](array, out);
        if (all)
            json_object_object_add(all, kinds[i], array);
    }
    if (all)
        report_json_object(out, all);
    return 0;
}
