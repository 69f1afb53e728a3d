/* commands.h -- the subcommands of pmtwin and their exit codes.
 *
 *     0 done   1 a check failed   2 wrong usage   3 the machine lacks what was asked   130 Ctrl-C
 *
 * Each takes the options that were read and the stream for results, and returns 0 or -errno with one
 * line in why.
 */
#ifndef EXPERIMENTS_COMMANDS_H
#define EXPERIMENTS_COMMANDS_H

#include <stdio.h>

#include "experiments/options.h"

int command_run(const struct options *o, FILE *out, char *why);
int command_list(const struct options *o, FILE *out, char *why);
int command_explain(const struct options *o, FILE *out, char *why);
int command_bench(const struct options *o, FILE *out, char *why);

#endif
