/* explain.c -- one operation on a warm table, event by event: how the model is debugged, and how a
 * student first sees why 64 written bytes cost 256.
 *
 *     load records (and KEY, for read and delete) -> warm-up reads -> write everything back
 *     -> trace one operation
 *
 * Every event is kept, then printed; addresses are named by the store's own locate.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "backends/nearest.h"
#include "core/registry.h"
#include "experiments/commands.h"
#include "experiments/report.h"

enum { PLACE = 64 };

struct trace {
    struct backend_event *events;
    int count, room;
    bool lost; /* no memory for an event */
};

struct explained {
    const struct options *o;
    const struct store_ops *ops; /* the emulated copy */
    struct bed bed;
    struct trace trace;
    const char *word;
    uint64_t key;
    int result;
    uint64_t start_ps, end_ps;
    bool traced; /* the worker's part: warm-up or the operation */
    struct window window;
};

static void keep_event(void *arg, const struct backend_event *e)
{
    struct trace *t = arg;

    if (t->count == t->room) {
        int room = t->room ? t->room * 2 : 256;
        struct backend_event *more = realloc(t->events, (size_t)room * sizeof *more);
        if (!more) {
            t->lost = true;
            return;
        }
        t->events = more;
        t->room = room;
    }
    t->events[t->count++] = *e;
}

static int do_operation(struct explained *x)
{
    struct store *s = x->bed.store;
    uint64_t value;

    if (strcmp(x->word, "insert") == 0)
        return x->ops->insert(s, x->key, feed_fixed_value(x->key, 0));
    if (strcmp(x->word, "read") == 0)
        return x->ops->get(s, x->key, &value);
    return x->ops->remove(s, x->key);
}

static void worker(void *arg, int self)
{
    struct explained *x = arg;
    uint64_t random = x->o->seed, value;

    (void)self;
    if (x->traced) {
        x->start_ps = backend_now_ps(x->bed.backend);
        x->result = do_operation(x);
        x->end_ps = backend_done_ps(x->bed.backend);
        return;
    }
    for (uint64_t i = 0; i < RUNNER_WARM_UP && i < x->bed.records; i++) {
        uint64_t record = keys_random(&random) % x->bed.records;
        x->ops->get(x->bed.store, key_of(record, x->o->seed), &value);
    }
}

/* Read and delete find KEY; insert does not. */
static void prepare_key(void *arg, int self)
{
    struct explained *x = arg;
    const struct store_ops *native = registry_find(x->ops->name, REGISTRY_NATIVE);

    (void)self;
    x->result = 0;
    if (strcmp(x->word, "insert") != 0)
        x->result = native->insert(x->bed.store, x->key, feed_fixed_value(x->key, 0));
    if (x->result == -EEXIST)
        x->result = 0;
}

static int trace_operation(struct explained *x, char *why)
{
    struct backend *b = x->bed.backend;
    int error = backend_run(b, TARGET_NATIVE, 1, prepare_key, x, why);

    if (!error && x->result) {
        snprintf(why, BACKEND_WHY_MAX, "key %" PRIu64 " cannot be stored first: %s", x->key,
                 strerror(-x->result));
        return -ECANCELED;
    }
    if (!error)
        error = backend_run(b, TARGET_EMUL, 1, worker, x, why);
    if (error)
        return error;
    x->traced = true;
    backend_begin(b, PASS_THROUGHPUT);
    backend_trace(b, keep_event, &x->trace);
    error = backend_run(b, TARGET_EMUL, 1, worker, x, why);
    backend_trace(b, NULL, NULL);
    backend_end(b, &x->window);
    if (!error && x->trace.lost) {
        snprintf(why, BACKEND_WHY_MAX, "not enough memory to keep every event");
        return -ENOMEM;
    }
    return error;
}

/* ---- what is shown of an event ---------------------------------------------------------------- */

static bool makes_durable(const struct backend_event *e)
{
    return e->kind == PM_PERSISTENT && e->size &&
           (strcmp(e->word, "flush") == 0 || strcmp(e->word, "stream") == 0 ||
            strcmp(e->word, "persist") == 0);
}

static void describe_place(const struct explained *x, const struct backend_event *e, char *text)
{
    text[0] = 0;
    if (e->size == 0)
        return;
    if (e->kind == PM_VOLATILE)
        snprintf(text, PLACE, "DRAM +%" PRIu64, e->offset);
    else if (x->ops->locate)
        x->ops->locate(x->bed.store, e->offset, text, PLACE);
    if (!text[0])
        snprintf(text, PLACE, "pool +%" PRIu64, e->offset);
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

static double ns_from_start(const struct explained *x, uint64_t ps)
{
    return ps >= x->start_ps ? (double)(ps - x->start_ps) / 1000 : 0;
}

/* Durable means: power may fail from then on and the bytes are kept. */
static void add_durable(const struct explained *x, const struct backend_event *e, char *text,
                        size_t size)
{
    text[0] = 0;
    if (makes_durable(e))
        snprintf(text, size, "%.1f", ns_from_start(x, e->done_ps));
}

static void add_row(struct libscols_table *table, const struct explained *x, int number)
{
    const struct backend_event *e = &x->trace.events[number];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    char text[160], place[PLACE];

    snprintf(text, sizeof text, "%d", number + 1);
    scols_line_set_data(line, 0, text);
    scols_line_set_data(line, 1, e->word);
    describe_place(x, e, place);
    scols_line_set_data(line, 2, place);
    scols_line_set_data(line, 3, e->stage ? e->stage : "");
    snprintf(text, sizeof text, "%.1f", ns_from_start(x, e->start_ps));
    scols_line_set_data(line, 4, text);
    snprintf(text, sizeof text, "%.1f",
             e->done_ps > e->start_ps ? (double)(e->done_ps - e->start_ps) / 1000 : 0);
    scols_line_set_data(line, 5, text);
    if (e->xpline_bytes >= 0 && e->size && e->kind == PM_PERSISTENT)
        snprintf(text, sizeof text, "%d", e->xpline_bytes);
    else
        text[0] = 0;
    scols_line_set_data(line, 6, text);
    add_durable(x, e, text, sizeof text);
    scols_line_set_data(line, 7, text);
    snprintf(text, sizeof text, "%s:%d", base_name(e->file), e->line);
    scols_line_set_data(line, 8, text);
}

static uint64_t counter_value(const struct window *w, const char *name)
{
    for (int i = 0; i < w->counter_count; i++)
        if (strcmp(w->counters[i].name, name) == 0)
            return w->counters[i].value;
    return 0;
}

static void print_totals(FILE *out, const struct explained *x)
{
    const struct window *w = &x->window;

    fprintf(out,
            "\n%s: %s after %.1f ns, %d events\n"
            "lines flushed %" PRIu64 ", streamed %" PRIu64 ", fences %" PRIu64 "\n"
            "media read %" PRIu64 " B, written %" PRIu64 " B during the operation; %" PRIu64
            " B more when the buffers are emptied\n"
            "at, ns: from the operation's start. XPBuf: bytes of the XPLine waiting in the buffer.\n"
            "durable: the instant from which the bytes survive a power cut.\n",
            x->word, x->result ? strerror(-x->result) : "done",
            (double)(x->end_ps - x->start_ps) / 1000, x->trace.count,
            counter_value(w, "flush_lines"), counter_value(w, "stream_lines"),
            counter_value(w, "fences"), counter_value(w, "media_read_bytes"),
            counter_value(w, "media_write_bytes"), w->residual_media_write_bytes);
}

static void print_table(FILE *out, const struct explained *x)
{
    static const char *const heads[] = {"#",  "word",  "place",   "stage", "at",
                                        "ns", "XPBuf", "durable", "line"};
    struct libscols_table *table = scols_new_table();

    if (!table)
        return;
    fprintf(out, "%s %s %" PRIu64 " on %s, %" PRIu64 " records, warm\n\n", x->ops->name, x->word,
            x->key, x->bed.plan->spec, x->bed.records);
    scols_table_set_stream(table, out);
    for (int i = 0; i < 9; i++) {
        bool number = i == 0 || (i >= 4 && i <= 7);
        scols_table_new_column(table, heads[i], 0, number ? SCOLS_FL_RIGHT : 0);
    }
    for (int i = 0; i < x->trace.count; i++)
        add_row(table, x, i);
    scols_print_table(table);
    scols_unref_table(table);
    print_totals(out, x);
}

static struct json_object *event_object(const struct explained *x, const struct backend_event *e)
{
    struct json_object *o = json_object_new_object();
    char place[PLACE];

    describe_place(x, e, place);
    json_object_object_add(o, "word", json_object_new_string(e->word));
    json_object_object_add(o, "place", place[0] ? json_object_new_string(place) : NULL);
    json_object_object_add(o, "offset", e->size ? json_object_new_uint64(e->offset) : NULL);
    json_object_object_add(o, "size", json_object_new_uint64(e->size));
    json_object_object_add(o, "stage", e->stage ? json_object_new_string(e->stage) : NULL);
    json_object_object_add(o, "at_ns", json_object_new_double(ns_from_start(x, e->start_ps)));
    json_object_object_add(o, "done_ns", json_object_new_double(ns_from_start(x, e->done_ps)));
    json_object_object_add(o, "xpline_bytes",
                           e->xpline_bytes >= 0 ? json_object_new_int(e->xpline_bytes) : NULL);
    json_object_object_add(o, "durable", json_object_new_boolean(makes_durable(e)));
    json_object_object_add(o, "media_reads", json_object_new_uint64(e->media_reads));
    json_object_object_add(o, "media_writes", json_object_new_uint64(e->media_writes));
    json_object_object_add(o, "file", json_object_new_string(e->file ? e->file : ""));
    json_object_object_add(o, "line", json_object_new_int(e->line));
    return o;
}

static void print_json(FILE *out, const struct explained *x)
{
    struct json_object *object = json_object_new_object(), *events = json_object_new_array();

    for (int i = 0; i < x->trace.count; i++)
        json_object_array_add(events, event_object(x, &x->trace.events[i]));
    json_object_object_add(object, "schema", json_object_new_int(1));
    json_object_object_add(object, "store", json_object_new_string(x->ops->name));
    json_object_object_add(object, "operation", json_object_new_string(x->word));
    json_object_object_add(object, "key", json_object_new_uint64(x->key));
    json_object_object_add(object, "result",
                           json_object_new_string(x->result ? strerror(-x->result) : "done"));
    json_object_object_add(object, "ns",
                           json_object_new_double((double)(x->end_ps - x->start_ps) / 1000));
    json_object_object_add(object, "events", events);
    for (int i = 0; i < x->window.counter_count; i++)
        json_object_object_add(object, x->window.counters[i].name,
                               json_object_new_uint64(x->window.counters[i].value));
    json_object_object_add(object, "residual_media_write_bytes",
                           json_object_new_uint64(x->window.residual_media_write_bytes));
    report_json_object(out, object);
}

/* ---- the command ------------------------------------------------------------------------------ */

static int read_key(const char *text, uint64_t *key)
{
    char *end;
    errno = 0;
    *key = strtoull(text, &end, 0);
    return errno || *end || text[0] < '0' || text[0] > '9' ? -EINVAL : 0;
}

static int check_words(struct explained *x, char *why)
{
    static const char *const words[] = {"insert", "read", "delete"};
    const struct options *o = x->o;

    if (o->word_count != 3) {
        snprintf(why, BACKEND_WHY_MAX, "explain needs STORE insert|read|delete KEY");
        return -EINVAL;
    }
    if (!runner_store(o->words[0], why, BACKEND_WHY_MAX))
        return -EINVAL;
    x->ops = registry_find(o->words[0], REGISTRY_EMUL);
    for (int i = 0; i < 3; i++)
        if (strcmp(words[i], o->words[1]) == 0)
            x->word = words[i];
    if (!x->word) {
        const char *near = nearest_name(o->words[1], words, 3);
        snprintf(why, BACKEND_WHY_MAX, "explain knows no operation '%s'; %s%s%s", o->words[1],
                 near ? "did you mean '" : "give insert, read or delete", near ? near : "",
                 near ? "'?" : "");
        return -EINVAL;
    }
    if (read_key(o->words[2], &x->key)) {
        snprintf(why, BACKEND_WHY_MAX, "'%s' is no key; give a number from 0 to 2^64-1",
                 o->words[2]);
        return -EINVAL;
    }
    if (o->on_count != 1 || strncmp(o->on[0], "emul", 4) != 0) {
        snprintf(why, BACKEND_WHY_MAX, "explain shows the model; give --on emul:PROFILE");
        return -EINVAL;
    }
    if (!x->ops->fixed || !x->ops->insert || !x->ops->get || !x->ops->remove) {
        snprintf(why, BACKEND_WHY_MAX, "%s has no 8-byte pairs to explain", x->ops->name);
        return -EINVAL;
    }
    return 0;
}

static int open_bed(struct explained *x, struct bed_plan *plan, char *why)
{
    const struct options *o = x->o;
    const struct store_ops *native = registry_find(x->ops->name, REGISTRY_NATIVE);
    int error = runner_plan(o, native, o->on[0], 1, o->seed, NULL, plan, why);

    if (error)
        return error;
    plan->records = o->records;
    plan->config.records_hint = o->records + 1;
    if (!plan->backend.pool_bytes)
        plan->backend.pool_bytes =
            native->pool_bytes(&plan->config, o->records + 1, 8, 8) + (UINT64_C(64) << 20);
    return bed_open(&x->bed, plan, why);
}

int command_explain(const struct options *o, FILE *out, char *why)
{
    struct explained x = {.o = o};
    struct bed_plan plan;
    int error = check_words(&x, why);

    if (!error)
        error = open_bed(&x, &plan, why);
    if (error)
        return error;
    error = trace_operation(&x, why);
    if (!error && o->format == FORMAT_JSON)
        print_json(out, &x);
    else if (!error)
        print_table(out, &x);
    bed_close(&x.bed);
    free(x.trace.events);
    return error;
}
