/* report_json.c -- rows as JSON, schema 1. A key that cannot be known is null; why is in "reasons". */
#include "experiments/report.h"

#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "backends/machine.h"

static void add(struct json_object *to, const char *key, struct json_object *value)
{
    json_object_object_add(to, key, value);
}

static void add_text(struct json_object *to, const char *key, const char *text)
{
    add(to, key, text ? json_object_new_string(text) : NULL);
}

static void add_count(struct json_object *to, const char *key, uint64_t value)
{
    add(to, key, json_object_new_uint64(value));
}

static void add_number(struct json_object *to, const char *key, double value, const char *reason)
{
    add(to, key, reason ? NULL : json_object_new_double(value));
}

void report_known(struct json_object *object, struct json_object *reasons, const char *name,
                  const struct known *k)
{
    add_number(object, name, k->value, k->reason);
    if (k->reason)
        add_text(reasons, name, k->reason);
}

/* A fact, or null and why. */
static void add_fact(struct json_object *to, const char *name, const char *value,
                     const char *reason)
{
    if (!reason) {
        add_text(to, name, value);
        return;
    }
    struct json_object *unknown = json_object_new_object();
    add(unknown, "value", NULL);
    add_text(unknown, "reason", reason);
    add(to, name, unknown);
}

struct json_object *report_environment(void)
{
    const struct machine_fact *facts;
    int count = machine_facts(&facts);
    struct json_object *environment = json_object_new_object();

    for (int i = 0; i < count; i++)
        add_fact(environment, facts[i].name, facts[i].value, facts[i].reason);
    return environment;
}

static struct json_object *row_environment(const struct row *row)
{
    struct json_object *environment = report_environment();
    for (int i = 0; i < row->fact_count; i++)
        add_fact(environment, row->facts[i].name, row->facts[i].value, row->facts[i].reason);
    return environment;
}

static struct json_object *recovery_object(const struct row *row)
{
    if (!row->recovered)
        return NULL;
    struct json_object *object = json_object_new_object();
    add_count(object, "records", row->found.records);
    add_count(object, "segments", row->found.segments);
    add_count(object, "discarded", row->found.discarded);
    add_count(object, "reclaimed_bytes", row->found.reclaimed_bytes);
    add(object, "seconds", json_object_new_double(row->recovery_seconds));
    return object;
}

static struct json_object *counter_object(const struct counter *c)
{
    struct json_object *object = json_object_new_object();

    if (c->reason) {
        add(object, "value", NULL);
        add_text(object, "reason", c->reason);
    } else {
        add_count(object, "value", c->value);
        add_text(object, "source", c->source);
    }
    return object;
}

static struct json_object *counters_object(const struct row *row)
{
    const struct counter payload = {.source = "workload", .value = row->payload_bytes};
    const struct counter read = {.source = "workload", .value = row->read_payload_bytes};
    struct json_object *object = json_object_new_object();

    add(object, "payload_bytes", counter_object(&payload));
    add(object, "read_payload_bytes", counter_object(&read));
    for (int i = 0; i < row->window.counter_count; i++)
        add(object, row->window.counters[i].name, counter_object(&row->window.counters[i]));
    return object;
}

static struct json_object *residual_object(const struct row *row, struct json_object *reasons)
{
    struct json_object *object = json_object_new_object();
    const struct window *w = &row->window;

    add(object, "imc_write_bytes",
        w->residual_known ? json_object_new_uint64(w->residual_imc_write_bytes) : NULL);
    add(object, "media_write_bytes",
        w->residual_known ? json_object_new_uint64(w->residual_media_write_bytes) : NULL);
    if (!w->residual_known)
        add_text(reasons, "residual", "what caches still hold cannot be counted natively");
    return object;
}

static struct json_object *parameters_object(const struct row *row)
{
    struct json_object *object = json_object_new_object();
    const struct store_parameter *p = row->ops->parameters;

    for (int i = 0; p && p[i].name; i++) {
        if (p[i].words)
            add_text(object, p[i].name, p[i].words[row->parameters[i]]);
        else
            add_count(object, p[i].name, row->parameters[i]);
    }
    return object;
}

static void add_identity(struct json_object *object, const struct row *row)
{
    add(object, "schema", json_object_new_int(1));
    add_text(object, "store", row->ops->name);
    add_text(object, "backend", row->backend);
    add_text(object, "profile", row->profile[0] ? row->profile : NULL);
    add_text(object, "workload", row->workload->name);
    add_text(object, "distribution", row->distribution);
    add(object, "threads", json_object_new_int(row->threads));
    add_count(object, "records", row->records);
    add_count(object, "operations", row->operations);
    add_count(object, "key_size", (uint64_t)llround(row->key_size));
    add_count(object, "value_size", row->value_size);
    add(object, "repeat", json_object_new_int(row->repeat));
    add_count(object, "seed", row->seed);
    add_text(object, "skipped", row->skipped);
}

static void add_distributions(struct json_object *object, const struct row *row,
                              struct json_object *reasons)
{
    struct json_object *latency = json_object_new_object(), *load = json_object_new_object();

    for (int i = 0; i < RUNNER_QUANTILES; i++)
        add_number(latency, runner_quantile_name[i], row->latency_ns[i], row->latency_reason);
    add(object, "latency_ns", latency);
    add_number(load, "peak", row->load_peak, row->load_reason);
    add_number(load, "mean", row->load_mean, row->load_reason);
    add_number(load, "end", row->load_end, row->load_reason);
    add(object, "load_factor", load);
    if (row->latency_reason)
        add_text(reasons, "latency_ns", row->latency_reason);
    if (row->load_reason)
        add_text(reasons, "load_factor", row->load_reason);
}

static void add_measured(struct json_object *object, const struct row *row,
                         struct json_object *reasons)
{
    add(object, "seconds", json_object_new_double(row->seconds));
    add_text(object, "seconds_source", row->seconds_source);
    add(object, "throughput_mops", json_object_new_double(row->mops));
    add_distributions(object, row, reasons);
    add_count(object, "volatile_bytes", row->volatile_bytes);
    add_count(object, "pool_bytes", row->pool_bytes);
    add_count(object, "pool_used_bytes", row->pool_used_bytes);
    add_count(object, "pool_allocated_bytes", row->pool_allocated_bytes);
    add(object, "recovery", recovery_object(row));
    if (!row->recovered)
        add_text(reasons, "recovery", "the store was made by this run, not found");
    add_count(object, "not_found", row->not_found);
    add(object, "second_socket_threads", json_object_new_int(row->second_socket_threads));
    add(object, "counters", counters_object(row));
    add(object, "residual", residual_object(row, reasons));
    report_known(object, reasons, "wa_lines", &row->wa_lines);
    report_known(object, reasons, "wa_imc", &row->wa_imc);
    report_known(object, reasons, "wa_device", &row->wa_device);
    report_known(object, reasons, "wa_total", &row->wa_total);
    report_known(object, reasons, "ra_imc", &row->ra_imc);
    report_known(object, reasons, "ra_device", &row->ra_device);
    report_known(object, reasons, "ra_total", &row->ra_total);
    add(object, "host_seconds", json_object_new_double(row->host_seconds));
}

/* A row that the store cannot do has the same keys, all null. */
static void add_nothing(struct json_object *object)
{
    static const char *const keys[] = {
        "seconds", "seconds_source", "throughput_mops", "latency_ns", "load_factor",
        "volatile_bytes", "pool_bytes", "pool_used_bytes", "pool_allocated_bytes", "recovery",
        "not_found", "second_socket_threads", "counters",
        "residual", "wa_lines", "wa_imc", "wa_device", "wa_total", "ra_imc", "ra_device",
        "ra_total", "host_seconds"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        add(object, keys[i], NULL);
}

static struct json_object *settings_array(const struct options *o)
{
    struct json_object *array = json_object_new_array();
    for (int i = 0; i < o->profile_set_count; i++)
        json_object_array_add(array, json_object_new_string(o->profile_sets[i]));
    return array;
}

void report_json_object(FILE *out, struct json_object *object)
{
    /* 15 digits: every double of ours, without the noise of the last bit. */
    json_c_set_serialization_double_format("%.15g", JSON_C_OPTION_GLOBAL);
    fputs(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
                                                     JSON_C_TO_STRING_NOSLASHESCAPE),
          out);
    fputc('\n', out);
    json_object_put(object);
}

void report_json(FILE *out, const struct options *o, const struct rows *rows)
{
    struct json_object *array = json_object_new_array();

    for (int i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        struct json_object *object = json_object_new_object();
        struct json_object *reasons = json_object_new_object();

        add_identity(object, row);
        if (row->skipped)
            add_nothing(object);
        else
            add_measured(object, row, reasons);
        add(object, "reasons", reasons);
        add(object, "parameters", parameters_object(row));
        add(object, "profile_parameters", settings_array(o));
        add(object, "environment", row_environment(row));
        json_object_array_add(array, object);
    }
    report_json_object(out, array);
}
