/* report.c -- the choice of a form, and CSV. */
#include "experiments/report.h"

#include <inttypes.h>

void report(FILE *out, const struct options *o, const struct rows *rows)
{
    switch (o->format) {
    case FORMAT_JSON:
        report_json(out, o, rows);
        break;
    case FORMAT_CSV:
        report_csv(out, rows);
        break;
    case FORMAT_TABLE:
        report_table(out, o, rows);
        break;
    }
}

const char *report_parameter(const struct store_parameter *p, uint64_t value, char buffer[32])
{
    if (p->words)
        return p->words[value];
    snprintf(buffer, 32, "%" PRIu64, value);
    return buffer;
}

/* An unknown number is an empty field. */
static void csv_number(FILE *out, double value, const char *reason)
{
    if (reason)
        fputc(',', out);
    else
        fprintf(out, ",%.9g", value);
}

static void csv_counter(FILE *out, const struct row *row, const char *name)
{
    const struct counter *c = row_counter(row, name);

    if (c && !c->reason)
        fprintf(out, ",%" PRIu64, c->value);
    else
        fputc(',', out);
}

static const char *const csv_counters[] = {"flush_lines",     "stream_lines",     "fences",
                                           "imc_read_bytes",  "imc_write_bytes",  "media_read_bytes",
                                           "media_write_bytes"};
enum { CSV_COUNTERS = sizeof csv_counters / sizeof csv_counters[0] };

static void csv_measured(FILE *out, const struct row *row)
{
    const char *skipped = row->skipped;
    const struct known *amplified[] = {&row->wa_lines, &row->wa_imc, &row->wa_device,
                                       &row->wa_total, &row->ra_imc, &row->ra_device,
                                       &row->ra_total};

    csv_number(out, row->seconds, skipped);
    csv_number(out, row->mops, skipped);
    for (int i = 0; i < RUNNER_QUANTILES; i++)
        csv_number(out, row->latency_ns[i], skipped ? skipped : row->latency_reason);
    csv_number(out, row->load_peak, skipped ? skipped : row->load_reason);
    csv_number(out, row->load_mean, skipped ? skipped : row->load_reason);
    csv_number(out, row->load_end, skipped ? skipped : row->load_reason);
    csv_number(out, (double)row->volatile_bytes, skipped);
    csv_number(out, (double)row->payload_bytes, skipped);
    for (int i = 0; i < CSV_COUNTERS; i++)
        csv_counter(out, row, csv_counters[i]);
    for (size_t i = 0; i < sizeof amplified / sizeof amplified[0]; i++)
        csv_number(out, amplified[i]->value, skipped ? skipped : amplified[i]->reason);
    csv_number(out, row->host_seconds, skipped);
}

static void csv_space(FILE *out, const struct row *row)
{
    const char *not_found = row->recovered ? NULL : "made, not found";
    csv_number(out, (double)row->pool_bytes, row->skipped);
    csv_number(out, (double)row->pool_used_bytes, row->skipped);
    csv_number(out, (double)row->pool_allocated_bytes, row->skipped);
    csv_number(out, row->recovery_seconds, not_found);
    csv_number(out, (double)row->found.records, not_found);
}

void report_csv(FILE *out, const struct rows *rows)
{
    fputs("store,backend,profile,workload,distribution,threads,records,operations,key_size,"
          "value_size,repeat,seed,seconds,throughput_mops,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,"
          "load_peak,load_mean,load_end,volatile_bytes,payload_bytes",
          out);
    for (int i = 0; i < CSV_COUNTERS; i++)
        fprintf(out, ",%s", csv_counters[i]);
    fputs(",wa_lines,wa_imc,wa_device,wa_total,ra_imc,ra_device,ra_total,host_seconds,skipped,"
          "pool_bytes,pool_used_bytes,pool_allocated_bytes,recovery_seconds,recovery_records\n",
          out);
    for (int i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        fprintf(out, "%s,%s,%s,%s,%s,%d,%" PRIu64 ",%" PRIu64 ",%g,%" PRIu32 ",%d,%" PRIu64,
                row->ops->name, row->backend, row->profile, row->workload->name, row->distribution,
                row->threads, row->records, row->operations, row->key_size, row->value_size,
                row->repeat, row->seed);
        csv_measured(out, row);
        fprintf(out, ",%s%s%s", row->skipped ? "\"" : "", row->skipped ? row->skipped : "",
                row->skipped ? "\"" : "");
        csv_space(out, row);
        fputc('\n', out);
    }
}
