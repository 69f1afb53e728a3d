/* row.h -- for the runner: computes a row's wa_* and ra_* from its counters and payload.
 *
 * Formulas: design of the counters, docs/RESULTS.md. Threads: none. Errors: an unknown part makes
 * the ratio unknown, with the part's reason.
 */
#ifndef EXPERIMENTS_ROW_H
#define EXPERIMENTS_ROW_H

struct row;

void row_amplify(struct row *row);

#endif
