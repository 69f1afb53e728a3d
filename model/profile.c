/* profile.c -- see profile.h. One table says every key: its unit and its place in the struct.
 *
 *     text --> lines --> "name value unit" --> keys[] --> struct profile
 *                 '-- "base NAME" --> the built-in text, first
 *
 * Decimal fractions are read as integers (no floating point), so a file means the same everywhere.
 */
#include "model/profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/profile_builtin.h"

struct unit {
    const char *name;
    int64_t scale; /* one of it in the struct */
};

static const struct unit ns = {"ns", 1000};
static const struct unit kib = {"KiB", 1};
static const struct unit bytes = {"bytes", 1};
static const struct unit percent = {"percent", 10000}; /* held in parts per million */
static const struct unit count = {"count", 1};
static const struct unit flag = {"flag", 1};

struct key {
    const char *name;
    const struct unit *unit;
    size_t offset;
};

#define KEY(field, unit) {#field, &unit, offsetof(struct profile, field)}

static const struct key keys[] = {
    KEY(sockets, count),       KEY(cores, count),          KEY(dimms, count),
    KEY(cycle, ns),            KEY(event, ns),             KEY(l1_size, kib),
    KEY(l1_ways, count),       KEY(l1_hit, ns),            KEY(l2_size, kib),
    KEY(l2_ways, count),       KEY(l2_hit, ns),            KEY(llc_size, kib),
    KEY(llc_hit, ns),          KEY(peer_hit, ns),          KEY(tlb_entries, count),
    KEY(tlb_miss, ns),         KEY(line_fills, count),     KEY(window, count),
    KEY(prefetch, count),      KEY(flush_latency, ns),     KEY(stream_latency, ns),
    KEY(persist_gap, ns),      KEY(flush_evicts, flag),    KEY(cache_durable, flag),
    KEY(interleave, bytes),    KEY(wpq, count),            KEY(hazard, ns),
    KEY(link, ns),             KEY(remote_read, ns),       KEY(remote_write, ns),
    KEY(upi, ns),              KEY(media, flag),           KEY(read_buffer_hit, ns),
    KEY(ait_hit, ns),          KEY(ait_miss, ns),          KEY(read_buffer, count),
    KEY(xpbuffer, count),      KEY(xpbuffer_draws, count), KEY(ait_entries, count),
    KEY(ait_ways, count),      KEY(media_read, ns),        KEY(media_write, ns),
    KEY(background, percent),  KEY(wear_threshold, count), KEY(wear_window, ns),
    KEY(wear_stall, ns),       KEY(dram_latency, ns),      KEY(dram_read, ns),
    KEY(dram_write, ns),
};

enum { KEYS = sizeof keys / sizeof keys[0] };

/* Where an error is, and where its sentence goes. */
struct place {
    const char *file;
    int line;
    char *why;
    size_t why_size;
};

static int __attribute__((format(printf, 2, 3))) fail(const struct place *at, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (at->line > 0)
        snprintf(at->why, at->why_size, "%s:%d: %s", at->file, at->line, text);
    else
        snprintf(at->why, at->why_size, "%s: %s", at->file, text);
    return -EINVAL;
}

static int64_t *field(struct profile *p, int k)
{
    return (int64_t *)((char *)p + keys[k].offset);
}

static int find_key(const char *name)
{
    for (int k = 0; k < KEYS; k++)
        if (strcmp(keys[k].name, name) == 0)
            return k;
    return -1;
}

/* Levenshtein's distance; names are short. */
static int distance(const char *a, const char *b)
{
    int row[PROFILE_NAME_MAX + 1];
    int nb = (int)strnlen(b, PROFILE_NAME_MAX);

    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];

        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

static const char *nearest(const char *name)
{
    int best = 0;

    for (int k = 1; k < KEYS; k++)
        if (distance(name, keys[k].name) < distance(name, keys[best].name))
            best = k;
    return keys[best].name;
}

/* A decimal number times scale; false: not a number, too large, or finer than the scale. */
static bool parse_number(const char *text, int64_t scale, int64_t *out)
{
    const char *s = *text == '-' ? text + 1 : text;
    int64_t whole = 0, part = 0;

    if (*s < '0' || *s > '9')
        return false;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (whole > INT64_MAX / 1000000)
            return false;
        whole = whole * 10 + (*s - '0');
    }
    if (whole > INT64_MAX / scale / 2)
        return false;
    if (*s == '.') {
        int64_t digit = scale;

        for (s++; *s >= '0' && *s <= '9'; s++) {
            if (digit % 10 != 0 && *s != '0')
                return false;
            digit /= 10;
            part += digit * (*s - '0');
        }
    }
    *out = whole * scale + part;
    if (*text == '-')
        *out = -*out;
    return *s == '\0';
}

static int set_key(struct profile *p, int k, const char *value, const struct place *at)
{
    int64_t number;

    if (!parse_number(value, keys[k].unit->scale, &number))
        return fail(at, "key %s: '%s' is not a number of %s", keys[k].name, value,
                    keys[k].unit->name);
    if (number < 0)
        return fail(at, "key %s: %s is negative; give zero or more", keys[k].name, value);
    if (keys[k].unit == &flag && number > 1)
        return fail(at, "key %s: %s is not a flag; give 0 or 1", keys[k].name, value);
    *field(p, k) = number;
    return 0;
}

static const struct profile_text *builtin(const char *name)
{
    for (int i = 0; i < profile_text_count; i++)
        if (strcmp(profile_texts[i].name, name) == 0)
            return &profile_texts[i];
    return NULL;
}

static int parse(struct profile *p, const char *text, bool has[KEYS], bool is_base,
                 struct place *at);

static int parse_base(struct profile *p, const char *name, bool has[KEYS], bool is_base,
                      const struct place *at)
{
    const struct profile_text *text = builtin(name);

    if (is_base)
        return fail(at, "key base: a base cannot have a base; copy its lines");
    if (!text)
        return fail(at, "key base: no built-in profile is called '%s'", name);
    struct place inner = {.file = text->name, .why = at->why, .why_size = at->why_size};

    return parse(p, text->text, has, true, &inner);
}

static int parse_line(struct profile *p, char *line, bool has[KEYS], bool mine[KEYS], bool is_base,
                      const struct place *at)
{
    char *save = NULL;
    char *name = strtok_r(line, " \t\r", &save);
    char *value = name ? strtok_r(NULL, " \t\r", &save) : NULL;
    char *unit = value ? strtok_r(NULL, " \t\r", &save) : NULL;
    int k;

    if (!name)
        return 0;
    if (!value)
        return fail(at, "key %s: has no value; write 'name value unit'", name);
    if (strcmp(name, "base") == 0) {
        for (k = 0; k < KEYS; k++)
            if (has[k])
                return fail(at, "key base: must be the first line");
        return parse_base(p, value, has, is_base, at);
    }
    k = find_key(name);
    if (k < 0)
        return fail(at, "key %s: is unknown; the nearest is %s", name, nearest(name));
    if (mine[k])
        return fail(at, "key %s: is given twice; keep one line", name);
    if (!unit || strcmp(unit, keys[k].unit->name) != 0)
        return fail(at, "key %s: unit '%s' should be %s", name, unit ? unit : "",
                    keys[k].unit->name);
    mine[k] = has[k] = true;
    return set_key(p, k, value, at);
}

static int parse(struct profile *p, const char *text, bool has[KEYS], bool is_base,
                 struct place *at)
{
    bool mine[KEYS] = {false};

    for (at->line = 1; *text; at->line++) {
        size_t n = strcspn(text, "\n");
        char line[512];

        if (n >= sizeof line)
            return fail(at, "the line is longer than %zu characters", sizeof line - 1);
        memcpy(line, text, n);
        line[n] = '\0';
        line[strcspn(line, "#")] = '\0';
        int rc = parse_line(p, line, has, mine, is_base, at);

        if (rc)
            return rc;
        text += n + (text[n] == '\n');
    }
    return 0;
}

static int load_text(struct profile *p, const char *name, const char *text, char *why,
                     size_t why_size)
{
    struct place at = {.file = name, .why = why, .why_size = why_size};
    bool has[KEYS] = {false};

    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    int rc = parse(p, text, has, false, &at);

    at.line = 0; /* what is missing is missing from the file */
    for (int k = 0; rc == 0 && k < KEYS; k++)
        if (!has[k])
            rc = fail(&at, "key %s: is missing; add '%s VALUE %s'", keys[k].name, keys[k].name,
                      keys[k].unit->name);
    return rc;
}

/* The whole file as text of 1 MiB at most; free it. */
static int read_text(FILE *f, char **text)
{
    enum { LIMIT = 1 << 20 };

    *text = malloc(LIMIT + 1);
    if (!*text)
        return -ENOMEM;
    errno = 0;
    size_t n = fread(*text, 1, LIMIT, f);

    (*text)[n] = '\0';
    if (ferror(f))
        return errno ? -errno : -EIO;
    if (fgetc(f) != EOF)
        return -EFBIG;
    return strlen(*text) == n ? 0 : -EILSEQ;
}

static int read_file(const char *path, char **text, char *why, size_t why_size)
{
    FILE *f = fopen(path, "r");
    int err = f ? read_text(f, text) : -errno;

    if (err == -EFBIG)
        snprintf(why, why_size, "%s: is larger than 1 MiB; give a profile", path);
    else if (err == -EILSEQ)
        snprintf(why, why_size, "%s: has a NUL byte; give a profile, as text", path);
    else if (err)
        snprintf(why, why_size, "%s: %s; give a built-in profile's name or a path", path,
                 strerror(-err));
    if (f)
        fclose(f);
    return err;
}

int profile_load(struct profile *p, const char *name_or_path, char *why, size_t why_size)
{
    const struct profile_text *known = builtin(name_or_path);
    char *text = NULL;

    if (known)
        return load_text(p, known->name, known->text, why, why_size);
    if (!strpbrk(name_or_path, "/.")) {
        snprintf(why, why_size, "%s: no built-in profile; for a path, write a slash or a dot",
                 name_or_path);
        return -ENOENT;
    }
    int rc = read_file(name_or_path, &text, why, why_size);

    if (!rc)
        rc = load_text(p, name_or_path, text, why, why_size);
    free(text);
    return rc;
}

int profile_set(struct profile *p, const char *assignment, char *why, size_t why_size)
{
    struct place at = {.file = assignment, .why = why, .why_size = why_size};
    const char *equals = strchr(assignment, '=');
    char name[PROFILE_NAME_MAX];

    if (!equals || equals == assignment || equals - assignment >= PROFILE_NAME_MAX)
        return fail(&at, "should read name=value");
    snprintf(name, sizeof name, "%.*s", (int)(equals - assignment), assignment);
    int k = find_key(name);

    if (k < 0)
        return fail(&at, "key %s: is unknown; the nearest is %s", name, nearest(name));
    return set_key(p, k, equals + 1, &at);
}

int profile_count(void)
{
    return profile_text_count;
}

int profile_builtin(int i, const char **name, const char **summary)
{
    if (i < 0 || i >= profile_text_count)
        return -EINVAL;
    *name = profile_texts[i].name;
    *summary = profile_texts[i].summary;
    return 0;
}
