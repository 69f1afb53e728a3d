/* kill_ledger.c -- see kill_ledger.h. */
#include "tests/kill_ledger.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/random.h"

_Noreturn void kill_fail(const struct kill_plan *p, int code, const char *format, ...)
{
    static pthread_mutex_t never_let_go = PTHREAD_MUTEX_INITIALIZER;
    va_list arguments;

    pthread_mutex_lock(&never_let_go);
    va_start(arguments, format);
    vsnprintf(p->ledger->fault, sizeof p->ledger->fault, format, arguments);
    va_end(arguments);
    _exit(code);
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t number_of(int worker, uint64_t key)
{
    return key * KILL_WORKERS + (uint64_t)worker;
}

/* A word, and as many further bytes as wanted that depend on it. */
static struct bytes spread(char *buffer, uint64_t word, uint64_t more)
{
    memcpy(buffer, &word, sizeof word);
    memset(buffer + sizeof word, (int)(word * 0x9d >> 8 & 255), more);
    return (struct bytes){buffer, (uint32_t)(sizeof word + more)};
}

static struct bytes key_bytes(char *buffer, uint64_t number)
{
    return spread(buffer, number, number % 16);
}

static struct bytes value_bytes(char *buffer, uint64_t word)
{
    const uint64_t dice = word >> 8;
    const bool big = dice % KILL_BIG_EVERY == 0;
    return spread(buffer, word, big ? POOL_SMALL_MAX + dice / KILL_BIG_EVERY % 10000 : dice % 240);
}

static bool same(struct bytes a, struct bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* Brings a key from one state to another. */
static int change(struct kill_table *t, struct kill_bytes *b, uint64_t number, uint64_t before,
                  uint64_t after)
{
    const struct store_ops *ops = t->ops;
    if (t->plan->fixed)
        return !after   ? ops->remove(t->s, number)
               : before ? ops->update(t->s, number, after)
                        : ops->insert(t->s, number, after);
    const struct bytes key = key_bytes(b->key, number);
    if (!after)
        return ops->remove_bytes(t->s, key);
    const struct bytes value = value_bytes(b->value, after);
    return (before ? ops->update_bytes : ops->insert_bytes)(t->s, key, value);
}

/* A key's state as get says. Of bytes the first eight will do: iterate has looked at the rest. */
static uint64_t get(struct kill_table *t, struct kill_bytes *b, uint64_t number)
{
    uint64_t word = KILL_ABSENT;
    uint32_t size = 0;
    const int error = t->plan->fixed
                          ? t->ops->get(t->s, number, &word)
                          : t->ops->get_bytes(t->s, key_bytes(b->key, number), b->value,
                                              sizeof b->value, &size);
    if (error && error != -ENOENT)
        kill_fail(t->plan, KILL_FAULT, "get of key %llu: %s", (unsigned long long)number,
                  strerror(-error));
    if (!error && !t->plan->fixed)
        memcpy(&word, b->value, sizeof word);
    return error ? KILL_ABSENT : word;
}

/* ---- a worker's turn ------------------------------------------------------------------------- */

static void intend(struct kill_worker *w, uint64_t key, uint64_t after)
{
    w->key = key;
    w->after = after;
    __atomic_store_n(&w->sequence, w->sequence + 1, __ATOMIC_RELEASE);
}

static void acknowledge(struct kill_worker *w)
{
    __atomic_store_n(&w->state[w->key], w->after, __ATOMIC_RELEASE);
    __atomic_store_n(&w->sequence, w->sequence + 1, __ATOMIC_RELEASE);
}

static void apply(struct kill_table *t, struct kill_bytes *b, int worker, uint64_t key,
                  uint64_t after)
{
    struct kill_worker *w = &t->plan->ledger->workers[worker];
    const uint64_t number = number_of(worker, key), before = w->state[key];

    intend(w, key, after);
    const int error = change(t, b, number, before, after);
    if (error)
        kill_fail(t->plan, KILL_FAULT, "%s of key %llu: %s",
                  !after ? "remove" : before ? "update" : "insert", (unsigned long long)number,
                  strerror(-error));
    acknowledge(w);
}

/* Half of the turns add a key, so that segments split; the others take any that was used. */
static void come_in(struct kill_table *t, struct kill_bytes *b, int worker, uint64_t limit)
{
    struct kill_worker *w = &t->plan->ledger->workers[worker];
    const uint64_t dice = random_next(&w->random);
    const uint64_t word = random_next(&w->random) | 1; /* not KILL_ABSENT */
    const bool grow = w->frontier == 0 || (w->frontier < limit && dice % 2 == 0);
    const uint64_t key = grow ? w->frontier : (dice >> 8) % w->frontier;
    const bool drop = w->state[key] != KILL_ABSENT && (dice >> 4 & 1);

    apply(t, b, worker, key, drop ? KILL_ABSENT : word);
    if (grow)
        __atomic_store_n(&w->frontier, key + 1, __ATOMIC_RELEASE);
    if (w->frontier >= limit)
        __atomic_store_n(&t->plan->ledger->limit, 0, __ATOMIC_RELEASE);
}

/* Segments merge when nobody has a record in them. */
static void go_out(struct kill_table *t, struct kill_bytes *b, int worker)
{
    struct kill_ledger *l = t->plan->ledger;
    struct kill_worker *w = &l->workers[worker];
    uint64_t none = 0;

    if (w->frontier) {
        const uint64_t key = w->frontier - 1;
        if (w->state[key] != KILL_ABSENT)
            apply(t, b, worker, key, KILL_ABSENT);
        __atomic_store_n(&w->frontier, key, __ATOMIC_RELEASE);
        return;
    }
    for (int i = 0; i < KILL_WORKERS; i++)
        if (__atomic_load_n(&l->workers[i].frontier, __ATOMIC_ACQUIRE)) {
            sched_yield();
            return;
        }
    const uint64_t next = 1 + random_next(&w->random) % t->plan->limit_most;
    __atomic_compare_exchange_n(&l->limit, &none, next, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

void kill_turn(struct kill_table *t, struct kill_bytes *b, int worker)
{
    const uint64_t limit = __atomic_load_n(&t->plan->ledger->limit, __ATOMIC_ACQUIRE);
    if (limit)
        come_in(t, b, worker, limit);
    else
        go_out(t, b, worker);
}

void kill_begin(const struct kill_plan *p)
{
    memset(p->ledger->workers, 0, sizeof p->ledger->workers);
    p->ledger->limit = p->limit_most;
}

/* ---- judgement ------------------------------------------------------------------------------- */

struct sight {
    struct kill_table *t;
    struct kill_bytes b;
    uint64_t records, space; /* space: bytes that the records take in the pool, out of line */
    uint64_t state[KILL_WORKERS * KILL_KEYS];
};

static const char *name_state(char text[32], uint64_t state)
{
    snprintf(text, 32, state == KILL_ABSENT ? "absent" : "0x%llx", (unsigned long long)state);
    return text;
}

/* A visit: each record is one that somebody wrote, and is there once. */
static int see(void *arg, struct bytes key, struct bytes value)
{
    struct sight *s = arg;
    const struct kill_plan *p = s->t->plan;
    uint64_t number = 0, word = KILL_ABSENT;

    if (key.size < sizeof number || value.size < sizeof word)
        kill_fail(p, KILL_FAULT, "a record of %u and %u bytes, which nobody wrote", key.size,
                  value.size);
    memcpy(&number, key.data, sizeof number);
    memcpy(&word, value.data, sizeof word);
    const bool known = number < KILL_WORKERS * KILL_KEYS && word != KILL_ABSENT;
    if (!known || (!p->fixed && (!same(key, key_bytes(s->b.key, number)) ||
                                 !same(value, value_bytes(s->b.value, word)))))
        kill_fail(p, KILL_FAULT, "a record 0x%llx: 0x%llx, which nobody wrote",
                  (unsigned long long)number, (unsigned long long)word);
    if (s->state[number] != KILL_ABSENT)
        kill_fail(p, KILL_FAULT, "key %llu is there twice", (unsigned long long)number);
    s->state[number] = word;
    s->records++;
    const uint64_t blob = 8 + (uint64_t)key.size + value.size; /* 8: struct esh_blob */
    const uint64_t grain = blob <= POOL_SMALL_MAX ? PM_LINE : POOL_UNIT; /* up to 512 B; extents */
    if (!p->fixed)
        s->space += (blob + grain - 1) / grain * grain;
    return 0;
}

/* An operation that was under way is done or not, and nothing else. The ledger follows. */
static void settle(const struct kill_plan *p, int worker, const uint64_t *states)
{
    struct kill_worker *w = &p->ledger->workers[worker];
    const uint64_t number = number_of(worker, w->key), state = states[number];
    const uint64_t before = w->state[w->key];
    char from[32], to[32], now[32];

    if (state != KILL_ABSENT && w->key >= w->frontier)
        w->frontier = w->key + 1; /* killed before it could say so */
    if (w->sequence % 2 == 0)
        return;
    if (state != w->after && state != before)
        kill_fail(p, KILL_FAULT, "key %llu, in flight from %s to %s, is %s",
                  (unsigned long long)number, name_state(from, before), name_state(to, w->after),
                  name_state(now, state));
    if (state == w->after)
        p->ledger->done++;
    else
        p->ledger->undone++;
    w->state[w->key] = state;
    w->sequence++;
}

static void compare(struct sight *s, int worker)
{
    const struct kill_plan *p = s->t->plan;
    const struct kill_worker *w = &p->ledger->workers[worker];
    char expected[32], now[32];

    for (uint64_t key = 0; key < KILL_KEYS; key++) {
        const uint64_t number = number_of(worker, key), state = s->state[number];
        if (state != w->state[key])
            kill_fail(p, KILL_FAULT, "key %llu was acknowledged as %s and is %s",
                      (unsigned long long)number, name_state(expected, w->state[key]),
                      name_state(now, state));
        if (key > w->frontier) /* absent: that iterate has not seen it is enough */
            continue;
        const uint64_t got = get(s->t, &s->b, number);
        if (got != state)
            kill_fail(p, KILL_FAULT, "key %llu: get says %s, iterate %s",
                      (unsigned long long)number, name_state(now, got),
                      name_state(expected, state));
    }
}

/* What is allocated is what the records, the segments and the header, one line, need. */
static void compare_space(const struct sight *s)
{
    const struct kill_plan *p = s->t->plan;
    const uint64_t segments = s->t->found.segments * p->buckets * PM_XPLINE;
    const uint64_t needed = PM_LINE + segments + s->space;
    uint64_t allocated = 0;

    (void)s->t->pools->used(&s->t->pool, &allocated);
    if (allocated != needed)
        kill_fail(p, KILL_FAULT, "%llu bytes are allocated, the records need %llu",
                  (unsigned long long)allocated, (unsigned long long)needed);
}

void kill_judge(struct kill_table *t)
{
    static struct sight s; /* too large for a stack */
    const struct kill_plan *p = t->plan;
    char why[256] = "";

    memset(&s, 0, sizeof s);
    s.t = t;
    if (t->ops->iterate(t->s, see, &s))
        kill_fail(p, KILL_FAULT, "iterate ends early");
    for (int i = 0; i < KILL_WORKERS; i++)
        settle(p, i, s.state);
    for (int i = 0; i < KILL_WORKERS; i++)
        compare(&s, i);
    if (s.records != t->found.records)
        kill_fail(p, KILL_FAULT, "recovery counts %llu records, iterate %llu",
                  (unsigned long long)t->found.records, (unsigned long long)s.records);
    if (t->ops->audit(t->s, why, sizeof why))
        kill_fail(p, KILL_FAULT, "%s", why);
    compare_space(&s);
}
