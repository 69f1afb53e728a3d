/* report_table.c -- rows for people: one block per store, workload and thread count, one column per
 * backend, so that modelled and measured numbers stand side by side in 80 columns.
 */
#include "experiments/report.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_WIDTH = 80, TABLE_BACKENDS = 3, CELL = 40 };

struct block {
    const struct row *row[TABLE_BACKENDS];
    int count;
};

static void write_cell(char *cell, double value, const char *reason)
{
    if (reason)
        snprintf(cell, CELL, "-");
    else if (value >= 1000)
        snprintf(cell, CELL, "%.0f", value);
    else
        snprintf(cell, CELL, value >= 100 ? "%.1f" : value >= 10 ? "%.2f" : "%.3f", value);
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

typedef void fill_cell(const struct row *row, char *cell, int which);

static void fill_throughput(const struct row *row, char *cell, int which)
{
    (void)which;
    write_cell(cell, row->mops, NULL);
}

static void fill_latency(const struct row *row, char *cell, int which)
{
    write_cell(cell, row->latency_ns[which], row->latency_reason);
}

static void fill_load(const struct row *row, char *cell, int which)
{
    const double loads[] = {row->load_peak, row->load_mean, row->load_end};
    write_cell(cell, 100 * loads[which], row->load_reason);
}

static const struct known *amplification(const struct row *row, int which)
{
    const struct known *all[] = {&row->wa_lines, &row->wa_imc, &row->wa_device, &row->wa_total,
                                 &row->ra_imc, &row->ra_device, &row->ra_total};
    return all[which];
}

static void fill_amplification(const struct row *row, char *cell, int which)
{
    const struct known *k = amplification(row, which);
    write_cell(cell, k->value, k->reason);
}

static const char *const per_operation[] = {"flush_lines", "stream_lines", "fences",
                                            "media_read_bytes", "media_write_bytes"};

static void fill_counter(const struct row *row, char *cell, int which)
{
    const struct counter *c = row_counter(row, per_operation[which]);

    if (!c || c->reason)
        write_cell(cell, 0, "unknown");
    else
        write_cell(cell, (double)c->value / (double)row->operations, NULL);
}

static void fill_not_found(const struct row *row, char *cell, int which)
{
    (void)which;
    snprintf(cell, CELL, "%" PRIu64, row->not_found);
}

static void fill_volatile(const struct row *row, char *cell, int which)
{
    (void)which;
    write_cell(cell, (double)row->volatile_bytes / (1 << 20), NULL);
}

static const struct line {
    const char *name;
    fill_cell *fill;
    int which;
} lines[] = {
    {"throughput Mops/s", fill_throughput, 0},
    {"latency p50 ns", fill_latency, 0},
    {"        p90 ns", fill_latency, 1},
    {"        p99 ns", fill_latency, 2},
    {"        p99.9 ns", fill_latency, 3},
    {"        max ns", fill_latency, 4},
    {"load factor peak %", fill_load, 0},
    {"            mean %", fill_load, 1},
    {"            end %", fill_load, 2},
    {"lines flushed /op", fill_counter, 0},
    {"lines streamed /op", fill_counter, 1},
    {"fences /op", fill_counter, 2},
    {"media read B/op", fill_counter, 3},
    {"media written B/op", fill_counter, 4},
    {"wa_lines", fill_amplification, 0},
    {"wa_imc", fill_amplification, 1},
    {"wa_device", fill_amplification, 2},
    {"wa_total", fill_amplification, 3},
    {"ra_imc", fill_amplification, 4},
    {"ra_device", fill_amplification, 5},
    {"ra_total", fill_amplification, 6},
    {"not found", fill_not_found, 0},
    {"volatile MiB", fill_volatile, 0},
};

/* A line where no backend has anything to say only takes room. */
static bool worth_showing(const struct block *b, const struct line *line)
{
    bool shown = false;

    for (int i = 0; i < b->count; i++) {
        char cell[CELL] = "";
        if (b->row[i]->skipped)
            continue;
        line->fill(b->row[i], cell, line->which);
        shown |= strcmp(cell, "-") != 0 && !(line->fill == fill_not_found && !strcmp(cell, "0"));
    }
    return shown;
}

static void print_title(FILE *out, const struct block *b)
{
    const struct row *row = b->row[0];
    char records[32], operations[32];

    fprintf(out, "%s, %s, %s, %d thread%s: %s records, then %s operations", row->ops->name,
            row->workload->name, row->distribution, row->threads, row->threads == 1 ? "" : "s",
            short_count(row->records, records), short_count(row->operations, operations));
    if (row->repeat)
        fprintf(out, ", repeat %d", row->repeat);
    fputc('\n', out);
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
        scols_table_new_column(table, b->row[i]->spec, 18, SCOLS_FL_RIGHT | SCOLS_FL_TRUNC);
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        if (!worth_showing(b, &lines[l]))
            continue;
        struct libscols_line *line = scols_table_new_line(table, NULL);
        scols_line_set_data(line, 0, lines[l].name);
        for (int i = 0; i < b->count; i++) {
            char cell[CELL] = "-";
            if (!b->row[i]->skipped)
                lines[l].fill(b->row[i], cell, lines[l].which);
            scols_line_set_data(line, (size_t)i + 1, cell);
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
        any |= !b->row[i]->skipped;
    if (any)
        print_cells(out, b);
    for (int i = 0; i < b->count; i++)
        if (b->row[i]->skipped)
            fprintf(out, "  not run on %s: %s\n", b->row[i]->spec, b->row[i]->skipped);
    for (int i = 0; i < b->count; i++)
        if (b->row[i]->second_socket_threads)
            fprintf(out, "  %s: %d of the threads run on the second socket\n", b->row[i]->spec,
                    b->row[i]->second_socket_threads);
    fputc('\n', out);
}

static bool same_block(const struct row *a, const struct row *b)
{
    return a->ops == b->ops && a->workload == b->workload && a->threads == b->threads &&
           a->repeat == b->repeat && strcmp(a->distribution, b->distribution) == 0;
}

static bool any_backend(const struct rows *rows, const char *backend)
{
    for (int i = 0; i < rows->count; i++)
        if (strcmp(rows->row[i].backend, backend) == 0 && !rows->row[i].skipped)
            return true;
    return false;
}

static void print_foot(FILE *out, const struct rows *rows)
{
    if (any_backend(rows, "emul"))
        fputs("emul: modelled. Time, latency of every operation and all counters: the model.\n",
              out);
    if (any_backend(rows, "dram"))
        fputs("dram: measured. Time: clock_gettime, a pass without other clocks; latency: a pass\n"
              "      with 1 operation in 16 timed; lines and fences: a counting pass.\n",
              out);
    fputs("payload   = key + value bytes of inserts and updates that succeeded\n"
          "wa_lines  = 64 x lines flushed or streamed / payload\n"
          "wa_imc    = bytes the memory controller sent to the DIMMs / payload\n"
          "wa_device = bytes the media wrote / bytes the DIMMs received\n"
          "wa_total  = bytes the media wrote / payload\n"
          "ra_*      = the same of reads: imc and media bytes read, key + value bytes found\n"
          "-         = not known here; --format json gives the reason\n",
          out);
}

void report_table(FILE *out, const struct options *o, const struct rows *rows)
{
    (void)o;
    for (int i = 0; i < rows->count;) {
        struct block b = {.count = 0};
        const struct row *first = &rows->row[i];
        while (i < rows->count && b.count < TABLE_BACKENDS && same_block(first, &rows->row[i]))
            b.row[b.count++] = &rows->row[i++];
        print_block(out, &b);
    }
    if (rows->count)
        print_foot(out, rows);
}
