/* nearest.h -- the name that was probably meant.
 *
 *     nearest_name("optane-10", names, n)  ->  "optane-100"
 *
 * Threads: no shared state. Errors: none; NULL when nothing is near.
 */
#ifndef BACKENDS_NEAREST_H
#define BACKENDS_NEAREST_H

#include <stddef.h>

/* Insertions, deletions and replacements that turn a into b (V. I. Levenshtein, 1966); names longer
 * than 63 characters are cut. */
int nearest_distance(const char *a, const char *b);

/* The name with the least distance to word, or NULL if more than half of word would change. */
const char *nearest_name(const char *word, const char *const *names, size_t count);

#endif
