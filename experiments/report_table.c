/* report_table.c -- rows for people: one block per store, workload and thread count, one column per
 * backend, so that modelled and measured numbers stand side by side in 80 columns. Of repeats the
 * median, and the quartiles of what is timed.
 */
#include "experiments/report.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_WIDTH = 80, TABLE_BACKENDS = 3, CELL = 40, REPEATS_SHOWN = 1000 };

/* One column: a backend's repeats. */
struct column {
    const struct row *row[REPEATS_SHOWN];
    int repeats;
};

struct block {
    struct column column[TABLE_BACKENDS];
    int count, repeats; /* repeats: the most of any column */
};

static void write_cell(char *cell, const struct known *k, bool whole)
{
    if (k->reason)
        snprintf(cell, CELL, "-");
    else if (whole || k->value >= 1000)
        snprintf(cell, CELL, "%.0f", k->value);
    else
        snprintf(cell, CELL, k->value >= 100 ? "%.1f" : k->value >= 10 ? "%.2f" : "%.3f", k->value);
}

/* "10 M", "1.5 k": for titles. */
static const char *short_count(uint64_t n, char text[32])
{
    if (n >= 1000000 && n % 100000 == 0)
        snprintf(text, 32, "%g M", (double)n / 1e6);
    else if (n >= 1000 && n % 100 == 0)
        snprintf(text, 32, "%g k", (double)n / 1e3);
    else
        snprintf(text, 32, "%" PRIu64, n);
    return text;
}

static struct known known(double value, const char *reason)
{
    return (struct known){.value = value, .reason = reason};
}

typedef struct known read_figure(const struct row *row, int which);

static struct known throughput(const struct row *row, int which)
{
    (void)which;
    return known(row->mops, NULL);
}

static struct known latency(const struct row *row, int which)
{
    return known(row->latency_ns[which], row->latency_reason);
}

static struct known load(const struct row *row, int which)
{
    const double loads[] = {row->load_peak, row->load_mean, row->load_end};
    return known(100 * loads[which], row->load_reason);
}

static struct known amplification(const struct row *row, int which)
{
    const struct known *all[] = {&row->wa_lines, &row->wa_imc, &row->wa_device, &row->wa_total,
                                 &row->ra_imc, &row->ra_device, &row->ra_total};
    return *all[which];
}

static const char *const per_operation[] = {"flush_lines", "stream_lines", "fences",
                                            "media_read_bytes", "media_write_bytes"};

static struct known counter(const struct row *row, int which)
{
    const struct counter *c = row_counter(row, per_operation[which]);

    if (!c || c->reason || !row->operations)
        return known(0, "unknown");
    return known((double)c->value / (double)row->operations, NULL);
}

static struct known not_found(const struct row *row, int which)
{
    (void)which;
    return known((double)row->not_found, row->not_found ? NULL : "all were found");
}

static struct known space(const struct row *row, int which)
{
    const double used = (double)row->pool_used_bytes;
    const double bytes[] = {(double)row->volatile_bytes / (1 << 20), used / (1 << 20),
                            used > 0 ? 100 * (1 - (double)row->pool_allocated_bytes / used) : 0,
                            100 * (double)row->pool_allocated_bytes / (double)row->pool_bytes};
    return known(bytes[which], NULL);
}

static struct known recovery(const struct row *row, int which)
{
    const double of[] = {1e3 * row->recovery_seconds, (double)row->found.records,
                         (double)row->found.segments, (double)row->found.discarded,
                         (double)row->found.reclaimed_bytes};
    return known(of[which], row->recovered ? NULL : "the store was made, not found");
}

static const struct line {
    const char *name;
    read_figure *read;
    int which;
    bool whole; /* a count */
    bool quartiles;
} lines[] = {
    {"throughput Mops/s", throughput, 0, false, true},
    {"latency p50 ns", latency, 0, false, false},
    {"        p90 ns", latency, 1, false, false},
    {"        p99 ns", latency, 2, false, false},
    {"        p99.9 ns", latency, 3, false, false},
    {"        max ns", latency, 4, false, false},
    {"recovery ms", recovery, 0, false, true},
    {"  records", recovery, 1, true, false},
    {"  segments", recovery, 2, true, false},
    {"  discarded", recovery, 3, true, false},
    {"  reclaimed bytes", recovery, 4, true, false},
    {"load factor peak %", load, 0, false, false},
    {"            mean %", load, 1, false, false},
    {"            end %", load, 2, false, false},
    {"lines flushed /op", counter, 0, false, false},
    {"lines streamed /op", counter, 1, false, false},
    {"fences /op", counter, 2, false, false},
    {"media read B/op", counter, 3, false, false},
    {"media written B/op", counter, 4, false, false},
    {"wa_lines", amplification, 0, false, false},
    {"wa_imc", amplification, 1, false, false},
    {"wa_device", amplification, 2, false, false},
    {"wa_total", amplification, 3, false, false},
    {"ra_imc", amplification, 4, false, false},
    {"ra_device", amplification, 5, false, false},
    {"ra_total", amplification, 6, false, false},
    {"not found", not_found, 0, true, false},
    {"volatile MiB", space, 0, false, false},
    {"pool used MiB", space, 1, false, false},
    {"pool fragmentation %", space, 2, false, false},
    {"pool occupancy %", space, 3, false, false},
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile of a line's values over the repeats: between two of them, the mean by distance. */
static struct known over_repeats(const struct column *c, const struct line *line, double quantile)
{
    double values[REPEATS_SHOWN];
    int n = 0;

    for (int i = 0; i < c->repeats; i++) {
        const struct row *row = c->row[i];
        const struct known k = row->skipped ? known(0, row->skipped) : line->read(row, line->which);
        if (k.reason)
            return k;
        values[n++] = k.value;
    }
    qsort(values, (size_t)n, sizeof values[0], by_value);
    const double place = quantile * (n - 1);
    const int below = (int)place, above = below + 1 < n ? below + 1 : below;
    return known(values[below] + (place - below) * (values[above] - values[below]), NULL);
}

/* A line where no backend has anything to say only takes room. */
static bool worth_showing(const struct block *b, const struct line *line)
{
    bool shown = false;

    for (int i = 0; i < b->count; i++)
        shown |= !over_repeats(&b->column[i], line, 0.5).reason;
    return shown;
}

static void print_title(FILE *out, const struct block *b)
{
    const struct row *row = b->column[0].row[0];
    char records[32], operations[32];

    if (row->workload->recover) {
        fprintf(out, "%s, restart with %s records", row->ops->name,
                short_count(row->records, records));
    } else
        fprintf(out, "%s, %s, %s, %d thread%s: %s records, then %s operations", row->ops->name,
            row->workload->name, row->distribution, row->threads, row->threads == 1 ? "" : "s",
            short_count(row->records, records), short_count(row->operations, operations));
    if (b->repeats > 1)
        fprintf(out, ", median of %d", b->repeats);
    fputc('\n', out);
}

static void add_line(struct libscols_table *table, const struct block *b, const struct line *line,
                     const char *name, double quantile)
{
    struct libscols_line *cells = scols_table_new_line(table, NULL);
    scols_line_set_data(cells, 0, name);
    for (int i = 0; i < b->count; i++) {
        char cell[CELL];
        const struct known k = over_repeats(&b->column[i], line, quantile);
        write_cell(cell, &k, line->whole);
        scols_line_set_data(cells, (size_t)i + 1, cell);
    }
}

static void print_cells(FILE *out, const struct block *b)
{
    struct libscols_table *table = scols_new_table();

    if (!table)
        return;
    scols_table_set_stream(table, out);
    scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table, TABLE_WIDTH);
    scols_table_enable_nowrap(table, 1);
    scols_table_new_column(table, "", 22, 0);
    for (int i = 0; i < b->count; i++)
        scols_table_new_column(table, b->column[i].row[0]->spec, 18,
                               SCOLS_FL_RIGHT | SCOLS_FL_TRUNC);
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        if (!worth_showing(b, &lines[l]))
            continue;
        add_line(table, b, &lines[l], lines[l].name, 0.5);
        if (b->repeats > 1 && lines[l].quartiles) {
            add_line(table, b, &lines[l], "  first quartile", 0.25);
            add_line(table, b, &lines[l], "  third quartile", 0.75);
        }
    }
    scols_print_table(table);
    scols_unref_table(table);
}

static void print_block(FILE *out, const struct block *b)
{
    print_title(out, b);
    bool any = false;
    for (int i = 0; i < b->count; i++)
        any |= !b->column[i].row[0]->skipped;
    if (any)
        print_cells(out, b);
    for (int i = 0; i < b->count; i++) {
        const struct row *row = b->column[i].row[0];
        if (row->skipped)
            fprintf(out, "  not run on %s: %s\n", row->spec, row->skipped);
        if (row->second_socket_threads)
            fprintf(out, "  %s: %d of the threads run on the second socket\n", row->spec,
                    row->second_socket_threads);
    }
    fputc('\n', out);
}

static bool same_block(const struct row *a, const struct row *b)
{
    return a->ops == b->ops && a->workload == b->workload && a->threads == b->threads &&
           strcmp(a->distribution, b->distribution) == 0;
}

/* Puts a row into its backend's column. False: the table is wide, or the column long, enough. */
static bool place(struct block *b, const struct row *row)
{
    int c = 0;
    while (c < b->count && b->column[c].row[0]->column != row->column)
        c++;
    if (c == TABLE_BACKENDS || b->column[c].repeats == REPEATS_SHOWN)
        return false;
    struct column *column = &b->column[c];
    b->count += c == b->count;
    column->row[column->repeats++] = row;
    if (column->repeats > b->repeats)
        b->repeats = column->repeats;
    return true;
}

static const struct row *first_of(const struct rows *rows, const char *backend)
{
    for (int i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].backend, backend) == 0 && !rows->row[i].skipped)
            return &rows->row[i];
    return NULL;
}

static bool spec_is_new(const struct rows *rows, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(rows->row[i].spec, rows->row[at].spec) == 0 && !rows->row[i].skipped)
            return false;
    return !rows->row[at].skipped;
}

static const char *fact_of(const struct row *row, const char *name)
{
    for (int i = 0; i < row->fact_count; i++)
        if (strcmp(row->facts[i].name, name) == 0)
            return row->facts[i].reason ? "unknown" : row->facts[i].value;
    return "unknown";
}

/* What the memory of each native backend is. */
static void print_memory(FILE *out, const struct rows *rows)
{
    for (int i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];
        if (!row->fact_count || !spec_is_new(rows, i))
            continue;
        fprintf(out, "%s: %s; node %s; huge pages: %s;\n      flush: %s%s\n", row->spec,
                fact_of(row, "memory"), fact_of(row, "numa_node"), fact_of(row, "huge_page_share"),
                fact_of(row, "flush"), row->persistent ? "; persistent" : "");
        if (strcmp(row->backend, "pmem") == 0 && !row->persistent)
            fputs("      NOT persistent memory: contents survive a process crash but no power cut\n",
                  out);
    }
}

static void print_foot(FILE *out, const struct rows *rows)
{
    if (first_of(rows, "emul"))
        fputs("emul: modelled. Time, latency of every operation and all counters: the model.\n",
              out);
    if (first_of(rows, "dram") || first_of(rows, "pmem"))
        fputs("dram, pmem: measured. Time: clock_gettime, a pass without other clocks; latency:\n"
              "      a pass with 1 operation in 16 timed; lines and fences: a counting pass.\n",
              out);
    print_memory(out, rows);
    fputs("payload   = key + value bytes of inserts and updates that succeeded\n"
          "wa_lines  = 64 x lines flushed or streamed / payload\n"
          "wa_imc    = bytes the memory controller sent to the DIMMs / payload\n"
          "wa_device = bytes the media wrote / bytes the DIMMs received\n"
          "wa_total  = bytes the media wrote / payload\n"
          "ra_*      = the same of reads: imc and media bytes read, key + value bytes found\n"
          "pool used = units in use; fragmentation: their share that nobody has allocated;\n"
          "      occupancy: allocated / the pool's bytes\n"
          "-         = not known here; --format json gives the reason\n",
          out);
}

void report_table(FILE *out, const struct options *o, const struct rows *rows)
{
    bool *done = calloc((size_t)rows->count + 1, sizeof *done);
    (void)o;
    for (int i = 0; done && i < rows->count; i++) {
        struct block b = {.count = 0};
        if (done[i])
            continue;
        /* What has no place in this block begins one of its own, when its turn comes. */
        for (int j = i; j < rows->count && same_block(&rows->row[i], &rows->row[j]); j++)
            if (!done[j])
                done[j] = place(&b, &rows->row[j]);
        print_block(out, &b);
    }
    free(done);
    if (rows->count)
        print_foot(out, rows);
}
