/* kill_ledger.h -- what each record of a store must be, kept where a killed process cannot lose it.
 *
 *     worker    sequence odd  --->  the store's operation  --->  state[key], sequence even
 *               key, after          (killed here: as before      acknowledged
 *                                    or as after, nothing else)
 *
 * The ledger lies in memory that parent and children share. Each worker has keys of its own, and
 * writes down what it is about to do, and after the operation returned what is acknowledged. So it
 * is known what every key must be, but for one key per worker. What kill_judge() finds of those
 * becomes the truth for the next run.
 *
 * Records come in until a worker has as many keys as the tide's limit, and go out until none is
 * left; each tide has another limit. So segments split and merge again and again.
 *
 * A process dies between two instructions, and what was executed before is there, whatever order
 * the processor shows to others. So the order of stores that matters is the compiler's.
 *
 * Threads: kill_turn() for different workers at once; all else with the store at rest.
 * Errors: all of them end the calling process through kill_fail(); its parent reads why.
 */
#ifndef TESTS_KILL_LEDGER_H
#define TESTS_KILL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "core/store.h"

/* How a process ends. */
enum { KILL_RIGHT, KILL_FAULT, KILL_SETUP, KILL_HANG };

enum {
    KILL_WORKERS = 4,
    KILL_KEYS = 1 << 14,   /* of each worker */
    KILL_BIG_EVERY = 1024, /* one value in so many is an extent of its own in the pool */
};

/* A key's state is one word: no record, or the record's value. */
enum { KILL_ABSENT = 0 };

struct kill_worker {
    uint64_t sequence; /* odd: an operation is under way .. */
    uint64_t key;      /* .. on this key .. */
    uint64_t after;    /* .. which makes its state this */
    uint64_t frontier; /* keys from here on are absent */
    uint64_t random;
    uint64_t state[KILL_KEYS]; /* as acknowledged */
};

struct kill_ledger {
    uint32_t working;      /* workers that have begun */
    uint32_t stage;        /* of the child that recovers */
    uint64_t limit;        /* keys of a worker at which the tide turns; 0: it goes out */
    uint64_t recovery_ns;  /* that the last whole recovery took */
    uint64_t done, undone; /* operations that a kill caught */
    uint64_t halves;       /* runs that left a segment of half a split or merge */
    uint64_t recoveries;   /* killed before they were through */
    char fault[512];       /* a failing child's last words */
    struct kill_worker workers[KILL_WORKERS];
};

/* One run. */
struct kill_plan {
    struct kill_ledger *ledger;
    const char *pool_path;
    uint64_t number, seed, random;
    uint64_t delay_ns;
    uint64_t buckets, probe; /* the store's parameters that are not at their defaults */
    uint64_t limit_most;     /* of a tide, up to KILL_KEYS */
    int threads;
    bool fixed;
};

/* An open store. */
struct kill_table {
    const struct kill_plan *plan;
    const struct store_ops *ops;
    const struct pool_ops *pools;
    struct backend *backend;
    struct pool pool;
    struct store *s;
    struct store_recovery found;
};

/* Room for a record's bytes. */
struct kill_bytes {
    char key[64], value[STORE_BYTES_MAX];
};

/* Ends this process. Of several threads the first has the word. */
__attribute__((format(printf, 3, 4))) _Noreturn void kill_fail(const struct kill_plan *p, int code,
                                                               const char *format, ...);

/* An empty ledger, for an empty store. */
void kill_begin(const struct kill_plan *p);

/* One insert, update or remove of a worker's, and the ledger's entries before and after it. */
void kill_turn(struct kill_table *t, struct kill_bytes *b, int worker);

/* Compares all that a store that was just recovered holds with the ledger; settles what was under
 * way. */
void kill_judge(struct kill_table *t);

#endif
