/* report.h -- rows as a table for people, as CSV for spreadsheets, as JSON for programs.
 *
 * docs/RESULTS.md describes every key. Threads: none. Errors: what stdio says.
 */
#ifndef EXPERIMENTS_REPORT_H
#define EXPERIMENTS_REPORT_H

#include <stdio.h>

#include "experiments/runner.h"

struct json_object;

void report(FILE *out, const struct options *o, const struct rows *rows);
void report_table(FILE *out, const struct options *o, const struct rows *rows);
void report_csv(FILE *out, const struct rows *rows);
void report_json(FILE *out, const struct options *o, const struct rows *rows);

/* The machine's facts, for every JSON result. */
struct json_object *report_environment(void);
/* Writes the object, then lets go of it. */
void report_json_object(FILE *out, struct json_object *object);

/* A number or null; null's reason goes into reasons[name]. */
void report_known(struct json_object *object, struct json_object *reasons, const char *name,
                  const struct known *k);

/* The value of a store's parameter as text. */
const char *report_parameter(const struct store_parameter *p, uint64_t value, char buffer[32]);

#endif
