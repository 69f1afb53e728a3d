/* nearest.c -- edit distance over two rows. */
#include "backends/nearest.h"

#include <string.h>

enum { NEAREST_MAX = 63 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

int nearest_distance(const char *a, const char *b)
{
    size_t na = strnlen(a, NEAREST_MAX), nb = strnlen(b, NEAREST_MAX);
    int row[NEAREST_MAX + 1];

    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[nb];
}

const char *nearest_name(const char *word, const char *const *names, size_t count)
{
    const char *best = NULL;
    int best_distance = (int)(strnlen(word, NEAREST_MAX) + 1) / 2 + 1;

    for (size_t i = 0; i < count; i++) {
        int d = nearest_distance(word, names[i]);
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}
