/* race_driver.c -- every store under real threads: what ThreadSanitizer watches.
 *
 * A plain main: no test framework, no fibers, so that the sanitizer sees all there is. Each worker
 * has keys of its own, whose state it knows, and shares a few with all others, whose values say
 * which key they belong to. The table fills and empties by turns, so that it splits and merges.
 * In the end every acknowledged operation must be found and nothing else,
 * before and after a restart.
 *
 *     race_driver [TURNS]     operations of each worker; exit 1 and one line at the first fault
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/native.h"
#include "core/registry.h"
#include "tests/random.h"

enum { WORKERS_MAX = 8, OWN = 512, COMMON = 48, SIZES = 700, POOL_MIB = 96, TIDES = 7 };

struct scenario {
    const char *store;
    bool fixed;
    int workers, parameter; /* parameter: the one that is not at its default; -1: none */
    uint64_t value;
};

struct table {
    const struct store_ops *ops;
    const struct pool_ops *pools;
    bool fixed;
    struct pm_region memory, dram;
    struct pool pool;
    struct store *s;
};

struct worker {
    struct table *t;
    pthread_t thread;
    int number, workers;
    uint64_t turns, random;
    const char *fault;
    bool present[OWN];
    uint64_t value[OWN];
    char key[STORE_BYTES_MAX], put[STORE_BYTES_MAX], got[STORE_BYTES_MAX];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "race_driver: %s: %s\n", what, why);
    exit(1);
}

static struct pm_region map(uint64_t size, enum pm_kind kind)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        die("mmap", strerror(errno));
    return (struct pm_region){.base = base, .size = size, .kind = kind};
}

/* ---- one operation, whatever the kind of record ----------------------------------------------- */

static uint64_t key_word(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

/* A word as 8 .. 8 + SIZES - 1 bytes that all depend on it. */
static struct bytes spread(char *buffer, uint64_t word, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        buffer[i] = (char)((word >> 8 * (i % 8)) + i / 8);
    return (struct bytes){buffer, (uint32_t)size};
}

static struct bytes key_bytes(struct worker *w, uint64_t number)
{
    return spread(w->key, key_word(number), 8 + key_word(number) % 40);
}

static struct bytes value_bytes(char *buffer, uint64_t word)
{
    return spread(buffer, word, 8 + word % SIZES);
}

static int put(struct worker *w, int (*fixed)(struct store *, uint64_t, uint64_t),
               int (*variable)(struct store *, struct bytes, struct bytes), uint64_t number,
               uint64_t word)
{
    struct store *s = w->t->s;
    return w->t->fixed ? fixed(s, key_word(number), word)
                       : variable(s, key_bytes(w, number), value_bytes(w->put, word));
}

static int insert(struct worker *w, uint64_t number, uint64_t word)
{
    return put(w, w->t->ops->insert, w->t->ops->insert_bytes, number, word);
}

static int update(struct worker *w, uint64_t number, uint64_t word)
{
    return put(w, w->t->ops->update, w->t->ops->update_bytes, number, word);
}

static int remove_key(struct worker *w, uint64_t number)
{
    struct store *s = w->t->s;
    return w->t->fixed ? w->t->ops->remove(s, key_word(number))
                       : w->t->ops->remove_bytes(s, key_bytes(w, number));
}

/* -EBADMSG: bytes that no writer ever wrote together. */
static int get(struct worker *w, uint64_t number, uint64_t *word)
{
    struct store *s = w->t->s;
    uint32_t size = 0;
    if (w->t->fixed)
        return w->t->ops->get(s, key_word(number), word);
    const int error = w->t->ops->get_bytes(s, key_bytes(w, number), w->got, sizeof w->got, &size);
    if (error)
        return error;
    if (size < 8)
        return -EBADMSG;
    memcpy(word, w->got, 8);
    const struct bytes expected = value_bytes(w->put, *word);
    return size == expected.size && memcmp(w->got, expected.data, size) == 0 ? 0 : -EBADMSG;
}

/* ---- workers ---------------------------------------------------------------------------------- */

/* Many want the same few keys. A value's upper half says whose it is. */
static const char *turn_common(struct worker *w, uint64_t dice, bool ebb)
{
    const uint64_t number = (dice >> 8) % COMMON;
    const uint64_t word = number << 32 | dice >> 32;
    const struct store_ops *ops = w->t->ops;
    uint64_t found = 0;
    int error;

    switch (ebb && (dice & 7) == 0 ? 1 : dice & 7) {
    case 0: error = insert(w, number, word); break;
    case 1: error = remove_key(w, number); break;
    case 2: error = update(w, number, word); break;
    case 3:
        if (ebb)
            return NULL;
        error = ops->upsert ? put(w, ops->upsert, ops->upsert_bytes, number, word)
                            : insert(w, number, word);
        break;
    default:
        error = get(w, number, &found);
        if (!error && found >> 32 != number)
            return "a common key has a value that nobody wrote";
    }
    return error && error != -EEXIST && error != -ENOENT ? strerror(-error) : NULL;
}

/* ebb: what is there goes, and little comes. */
static const char *turn_own(struct worker *w, uint64_t dice, bool ebb)
{
    const uint64_t i = (dice >> 8) % OWN, word = random_next(&w->random);
    const uint64_t number = COMMON + i * (uint64_t)w->workers + (uint64_t)w->number;
    const bool there = w->present[i], keep = !ebb && dice >> 40 & 1;
    uint64_t found = 0;
    int error = get(w, number, &found);

    if (error != (there ? 0 : -ENOENT) || (there && found != w->value[i]))
        return "get does not return what was acknowledged";
    if (ebb && !there && dice >> 41 & 63)
        return NULL;
    error = !there ? insert(w, number, word) : keep ? update(w, number, word)
                                                    : remove_key(w, number);
    if (error)
        return strerror(-error);
    w->present[i] = !there || keep;
    w->value[i] = word;
    return NULL;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct store_stats stats = {0}; /* looked at while others work, as the runner does */
    native_self = w->number;
    for (uint64_t turn = 0; turn < w->turns && !w->fault; turn++) {
        const uint64_t dice = random_next(&w->random);
        const bool ebb = turn * TIDES / w->turns & 1;
        w->fault = dice >> 60 < 5 ? turn_common(w, dice, ebb) : turn_own(w, dice, ebb);
        w->t->ops->stats(w->t->s, &stats);
    }
    if (!w->fault && stats.slots == 0)
        w->fault = "a table without slots";
    return NULL;
}

/* ---- judgement -------------------------------------------------------------------------------- */

static void expect_all(struct worker *workers, int count, const char *name)
{
    struct table *t = workers->t;
    uint64_t live = 0, counted = 0, found;
    char why[256] = "";

    for (int n = 0; n < count; n++)
        for (uint64_t i = 0; i < OWN; i++) {
            struct worker *w = &workers[n];
            const int error = get(w, COMMON + i * (uint64_t)count + (uint64_t)n, &found);
            if (error != (w->present[i] ? 0 : -ENOENT) || (!error && found != w->value[i]))
                die(name, "an acknowledged operation is not found");
            live += !error;
        }
    for (uint64_t number = 0; number < COMMON; number++)
        live += get(workers, number, &found) == 0;
    if (t->ops->iterate(t->s, store_count, &counted) || counted != live)
        die(name, "iteration counts other records than get finds");
    if (t->ops->audit && t->ops->audit(t->s, why, sizeof why))
        die(name, why);
}

static void restart(struct table *t, const char *name)
{
    struct store_recovery found;
    char why[POOL_WHY_MAX] = "";
    t->ops->close(t->s);
    t->pools->close(&t->pool);
    munmap(t->dram.base, t->dram.size);
    t->dram = map(t->dram.size, PM_VOLATILE);
    if (t->pools->open(&t->pool, &t->memory, &t->dram, why))
        die(name, why);
    if (t->ops->open(&t->s, &t->pool, &found))
        die(name, "the store does not open again");
}

static void make(struct table *t, const struct scenario *sc, const char *name)
{
    struct store_config config = {.fixed = sc->fixed, .records_hint = OWN * WORKERS_MAX + COMMON};
    char why[POOL_WHY_MAX] = "";

    t->ops = registry_find(sc->store, REGISTRY_NATIVE);
    t->pools = registry_pool(REGISTRY_NATIVE);
    t->fixed = sc->fixed;
    t->memory = map((uint64_t)POOL_MIB << 20, PM_PERSISTENT);
    t->dram = map(UINT64_C(1) << 30, PM_VOLATILE);
    for (int i = 0; t->ops->parameters[i].name; i++)
        config.parameters[i] = i == sc->parameter ? sc->value : t->ops->parameters[i].value;
    if (t->pools->create(&t->pool, &t->memory, &t->dram, why))
        die(name, why);
    if (t->ops->create(&t->s, &t->pool, &config))
        die(name, "the store cannot be made");
}

static void play(const struct scenario *sc, uint64_t turns)
{
    const struct store_ops *ops = registry_find(sc->store, REGISTRY_NATIVE);
    struct worker *workers = calloc((size_t)sc->workers, sizeof *workers);
    struct table t = {0};
    char name[128], parameter[64] = "defaults";

    if (sc->parameter >= 0)
        snprintf(parameter, sizeof parameter, "%s=%llu", ops->parameters[sc->parameter].name,
                 (unsigned long long)sc->value);
    snprintf(name, sizeof name, "%s, %s records, %s, %d threads", sc->store,
             sc->fixed ? "fixed" : "variable", parameter, sc->workers);
    if (!workers)
        die(name, "no memory");
    make(&t, sc, name);
    for (int i = 0; i < sc->workers; i++) {
        struct worker *w = &workers[i];
        *w = (struct worker){.t = &t, .number = i, .workers = sc->workers, .turns = turns,
                             .random = (uint64_t)i};
        if (pthread_create(&w->thread, NULL, work, w))
            die(name, "a thread cannot be started");
    }
    for (int i = 0; i < sc->workers; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < sc->workers; i++)
        if (workers[i].fault)
            die(name, workers[i].fault);
    expect_all(workers, sc->workers, name);
    restart(&t, name);
    expect_all(workers, sc->workers, name);
    t.ops->close(t.s);
    t.pools->close(&t.pool);
    munmap(t.memory.base, t.memory.size);
    munmap(t.dram.base, t.dram.size);
    free(workers);
    printf("%s: right\n", name);
}

/* ---- scenarios: each store as it comes, then each parameter at its ends ------------------------ */

static void play_store(const struct store_ops *ops, bool fixed, uint64_t turns)
{
    for (int workers = WORKERS_MAX / 2; workers <= WORKERS_MAX; workers *= 2)
        play(&(struct scenario){ops->name, fixed, workers, -1, 0}, turns);
    for (int i = 0; ops->parameters[i].name; i++) {
        const struct store_parameter *p = &ops->parameters[i];
        if (p->value != p->min && strcmp(p->name, "hash_bits") != 0) /* equal hashes do not fit */
            play(&(struct scenario){ops->name, fixed, 4, i, p->min}, turns / 4);
        if (p->value != p->max)
            play(&(struct scenario){ops->name, fixed, 4, i, p->max}, turns / 4);
    }
}

int main(int argc, char **argv)
{
    const uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 10) : 40000;

    if (turns == 0)
        die("TURNS", "give a number of operations, 1 or more");
    for (int i = 0; i < registry_count(); i++) {
        const struct store_ops *ops = registry_store(i, REGISTRY_NATIVE);
        if (ops->fixed)
            play_store(ops, true, turns);
        if (ops->variable)
            play_store(ops, false, turns);
    }
    return 0;
}
