/* emul.c -- the events. See emul.h for what they promise.
 *
 * Each event walks the private caches inline; what they do not have waits for its turn, and then
 * walks the rest of the chain (model/model.h).
 */
#include "backends/emul.h"

#include <assert.h>
#include <string.h>

#include "backends/emulator.h"

enum {
    PAUSE_CYCLES = 40, /* of PAUSE; 140 on Skylake server (Intel's optimization manual), whose
                        * waiting loops would look no oftener than once in two memory accesses */
};

static uint64_t line_of(const void *p)
{
    const uint64_t offset = (uint64_t)((const char *)p - emulator.arena->base);
    assert(offset < emulator.arena->reserved); /* memory outside the regions has no events */
    const uint64_t dram = emulator.arena->volatile_at;
    return offset < dram ? offset / PM_LINE : LINE_DRAM + (offset - dram) / PM_LINE;
}

/* Whether somebody else's clock is behind ours. */
static inline bool overdue(void)
{
    return emulator.next_key != EMULATOR_NEVER && emulator_key(emulator.self) > emulator.next_key;
}

static inline void take_turn(void)
{
    if (overdue())
        emulator_yield();
}

static inline void access_line(const void *p, uint64_t line, enum access kind)
{
    struct core *c = emulator.self->core;
    if (c->now_ps > emulator.run_ahead_ps)
        emulator_yield(); /* before the caches are looked at: they are as they are at our instant */
    if (core_try_l1(c, line, kind))
        return;
    __builtin_prefetch(p); /* the program's own access comes when the model's is done */
    model_expect(emulator.model, c, line);
    if (core_try_l2(c, line, kind))
        return;
    core_reserve(c, kind);
    if (overdue()) {
        emulator_yield();
        if (emulator.cores_shared)
            core_reserve(c, kind); /* a core's other worker may have taken the line fill */
    }
    model_access(emulator.model, c, line, kind);
}

/* ---- tracing: what one event did, by difference ------------------------------------------------
 * Exact for one worker; with more, what others did while it waited for its turn is in it. */

struct trace {
    struct model_counters before;
    uint64_t start_ps;
};

static void trace_begin(struct trace *t)
{
    emulator.self->core->answer = (struct answer){0};
    model_counters(emulator.model, &t->before);
    t->start_ps = core_now(emulator.self->core);
}

static void trace_end(const struct trace *t, const char *word, const void *p, size_t size,
                      const struct pm_site *site)
{
    struct model_counters after;
    model_counters(emulator.model, &after);
    const struct core *c = emulator.self->core;
    struct backend_event e = {
        .word = word,
        .file = site->file,
        .function = site->function,
        .line = site->line,
        .worker = emulator.self->number,
        .size = size,
        .stage = stage_name(c->answer.stage),
        .start_ps = t->start_ps,
        .clock_ps = core_now(c),
        .done_ps = c->answer.done_ps,
        .xpline_bytes = -1,
        .media_reads = (after.media_read_bytes - t->before.media_read_bytes) / PM_XPLINE,
        .media_writes = (after.media_write_bytes - t->before.media_write_bytes) / PM_XPLINE,
    };
    if (size) {
        const uint64_t line = line_of(p);
        const char *base = emulator.arena->base;
        e.kind = line & LINE_DRAM ? PM_VOLATILE : PM_PERSISTENT;
        e.offset = (uint64_t)((const char *)p - base) -
                   (line & LINE_DRAM ? emulator.arena->volatile_at : 0);
        if (e.kind == PM_PERSISTENT)
            e.xpline_bytes = model_xpline_bytes(emulator.model, line);
    }
    emulator.hook(emulator.hook_arg, &e);
}

/* Wraps an event's body; one predictable branch when nobody looks. */
#define EVENT(word, p, size, site, body)                                                           \
    do {                                                                                           \
        if (__builtin_expect(emulator.hook != NULL, 0)) {                                          \
            struct trace trace_;                                                                   \
            trace_begin(&trace_);                                                                  \
            body;                                                                                  \
            trace_end(&trace_, word, p, size, site);                                               \
        } else {                                                                                   \
            body;                                                                                  \
        }                                                                                          \
    } while (0)

/* ---- loads and stores ---------------------------------------------------------------------- */

/* An access of at most a line's size; two lines when it straddles. */
static inline void access_bytes(const void *p, size_t size, enum access kind)
{
    const uint64_t line = line_of(p);
    access_line(p, line, kind);
    if (((uintptr_t)p & (PM_LINE - 1)) + size > PM_LINE)
        access_line((const char *)p + size - 1, line + 1, kind);
}

void emul_load(const void *p, size_t size, const struct pm_site *site)
{
    emulator.last_load = p;
    EVENT("load", p, size, site, access_bytes(p, size, ACCESS_LOAD));
}

void emul_store(const void *p, size_t size, const struct pm_site *site)
{
    emulator.idle_pauses = 0;
    EVENT("store", p, size, site, access_bytes(p, size, ACCESS_STORE));
}

void emul_atomic(const void *p, size_t size, const struct pm_site *site)
{
    emulator.idle_pauses = 0;
    core_use(emulator.self->core);
    EVENT("atomic", p, size, site, access_bytes(p, size, ACCESS_ATOMIC));
}

/* The bytes from p on that lie in p's line, at most size. */
static size_t piece_of(const void *p, size_t size)
{
    const size_t room = PM_LINE - ((uintptr_t)p & (PM_LINE - 1));
    return size < room ? size : room;
}

void emul_read(void *dst, const void *p, size_t size, const struct pm_site *site)
{
    const char *from = p;
    char *to = dst;
    for (size_t n; size; size -= n, from += n, to += n) {
        n = piece_of(from, size);
        EVENT("read", from, n, site, access_line(from, line_of(from), ACCESS_LOAD));
        memcpy(to, from, n);
    }
}

void emul_write(void *p, const void *src, size_t size, const struct pm_site *site)
{
    char *to = p;
    const char *from = src;
    emulator.idle_pauses = 0;
    for (size_t n; size; size -= n, from += n, to += n) {
        n = piece_of(to, size);
        EVENT("write", to, n, site, access_line(to, line_of(to), ACCESS_STORE));
        memcpy(to, from, n);
    }
}

void emul_prefetch(const void *p, const struct pm_site *site)
{
    EVENT("prefetch", p, 1, site,
          (take_turn(), model_prefetch(emulator.model, emulator.self->core, line_of(p))));
}

/* ---- persisting ---------------------------------------------------------------------------- */

void emul_stream(void *p, const void *src, size_t size, const struct pm_site *site)
{
    char *to = p;
    const char *from = src;
    emulator.idle_pauses = 0;
    for (size_t n; size; size -= n, from += n, to += n) {
        n = piece_of(to, size);
        EVENT("stream", to, n, site,
              (take_turn(),
               model_stream(emulator.model, emulator.self->core, line_of(to), (unsigned)n)));
        memcpy(to, from, n);
    }
}

void emul_flush(const void *p, size_t size, const struct pm_site *site)
{
    if (!size)
        return;
    const uint64_t first = line_of(p);
    const uint64_t last = line_of((const char *)p + size - 1);
    for (uint64_t line = first; line <= last; line++) {
        const uintptr_t inside = (uintptr_t)p + (line - first) * PM_LINE;
        EVENT("flush", (const void *)(inside & ~(uintptr_t)(PM_LINE - 1)), PM_LINE, site,
              (take_turn(), model_flush(emulator.model, emulator.self->core, line)));
    }
}

void emul_fence(const struct pm_site *site)
{
    EVENT("fence", NULL, 0, site, model_fence(emulator.model, emulator.self->core));
}

/* ---- waiting and computing ----------------------------------------------------------------- */

void emul_at(const struct pm_site *site)
{
    EVENT("at", NULL, 0, site, core_use(emulator.self->core));
}

void emul_use(const struct pm_site *site)
{
    EVENT("use", NULL, 0, site, core_use(emulator.self->core));
}

void emul_pause(const struct pm_site *site)
{
    struct worker *self = emulator.self;
    self->pause_site = site;
    self->pause_word = emulator.last_load;
    emulator_count_pause();
    core_use(self->core); /* a waiting loop looked at what it loaded */
    core_work(self->core, PAUSE_CYCLES);
    take_turn();
}

void emul_work(uint64_t cycles, const struct pm_site *site)
{
    EVENT("work", NULL, 0, site, core_work(emulator.self->core, cycles));
}

int emul_self(void)
{
    return emulator.self->number;
}
