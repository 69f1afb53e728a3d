/* row.c -- what a row's numbers are made of: the amplifications, and counters by name. */
#include <stdlib.h>
#include <string.h>

#include "experiments/runner.h"
#include "experiments/row.h"

const double runner_quantile[RUNNER_QUANTILES] = {0.5, 0.9, 0.99, 0.999, 1};
const char *const runner_quantile_name[RUNNER_QUANTILES] = {"p50", "p90", "p99", "p999", "max"};

const struct counter *row_counter(const struct row *row, const char *name)
{
    for (int i = 0; i < row->window.counter_count; i++)
        if (strcmp(row->window.counters[i].name, name) == 0)
            return &row->window.counters[i];
    return NULL;
}

static struct known counted(const struct row *row, const char *name)
{
    const struct counter *c = row_counter(row, name);

    if (!c)
        return (struct known){.reason = "this backend does not count it"};
    return c->reason ? (struct known){.reason = c->reason}
                     : (struct known){.value = (double)c->value};
}

static struct known ratio(struct known above, struct known below, const char *when_zero)
{
    if (above.reason)
        return above;
    if (below.reason)
        return below;
    if (!(below.value > 0))
        return (struct known){.reason = when_zero};
    return (struct known){.value = above.value / below.value};
}

static struct known read_ratio(struct known above, struct known below)
{
    return ratio(above, below, "nothing was read");
}

void row_amplify(struct row *row)
{
    const struct known payload = {.value = (double)row->payload_bytes};
    const struct known read = {.value = (double)row->read_payload_bytes};
    const struct known flushed = counted(row, "flush_lines"), streamed = counted(row, "stream_lines");
    const struct known imc = counted(row, "imc_write_bytes");
    const struct known media = counted(row, "media_write_bytes");
    const struct known imc_read = counted(row, "imc_read_bytes");
    const struct known media_read = counted(row, "media_read_bytes");
    const char *no_payload = "no payload was written";
    struct known lines = flushed.reason ? flushed : streamed;

    if (!lines.reason)
        lines.value = PM_LINE * (flushed.value + streamed.value);
    row->wa_lines = ratio(lines, payload, no_payload);
    row->wa_imc = ratio(imc, payload, no_payload);
    row->wa_total = ratio(media, payload, no_payload);
    row->wa_device = payload.value > 0 ? ratio(media, imc, "nothing was sent to the DIMMs")
                                       : (struct known){.reason = no_payload};
    row->ra_imc = read_ratio(imc_read, read);
    row->ra_total = read_ratio(media_read, read);
    row->ra_device = read.value > 0 ? read_ratio(media_read, imc_read)
                                    : (struct known){.reason = "nothing was read"};
}

void rows_free(struct rows *rows)
{
    free(rows->row);
    *rows = (struct rows){0};
}
