/* emulator.h -- the emulator's control side and what its files share; the events are in emul.h.
 *
 *     ready workers: a heap of (clock, number), smallest first; the running one is not in it
 *     sleeping ones: in the heap too when their wait has an end, under the instant of that end
 *
 * One emulator is open at a time: an event has no room for a handle. Outside emulator_run() the
 * calling thread is worker 0 on the first core; only a run can have tasks.
 *
 * Workers that share a core share its clock and take turns event by event.
 *
 * Stuck: all sleep and no time limit will wake them; or, for IDLE_PAUSES_MAX turns of waiting
 * loops, nobody stored, nobody sleeps with a limit, and whoever is awake did nothing but wait.
 *
 * Threads: one host thread.
 */
#ifndef BACKENDS_EMULATOR_H
#define BACKENDS_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/arena.h"
#include "backends/backend.h"
#include "backends/emul.h"
#include "backends/fiber.h"
#include "model/model.h"

enum { EMULATOR_WORKERS = 256 };

#define EMULATOR_NEVER UINT64_MAX

enum worker_state { WORKER_UNUSED, WORKER_READY, WORKER_SLEEPING, WORKER_DONE };

struct worker {
    struct core *core;
    struct fiber *fiber; /* NULL: the calling thread */
    enum worker_state state;
    int number;
    void (*fn)(void *arg, int self);
    void *arg;
    void (*task_fn)(void *arg); /* of a task, instead of fn */

    const void *word;           /* sleeping: on this, */
    const struct worker *joins; /* or until this one ends */
    bool timed_out;
    const struct pm_site *pause_site; /* its last pause since idle_pauses passed a mark; or NULL */
    const void *pause_word;           /* what it had loaded just before */
};

struct emulator {
    struct model *model;
    const struct arena *arena;
    struct worker *self;    /* who runs */
    uint64_t next_key;      /* of the first in the heap; EMULATOR_NEVER: nobody else */
    uint64_t run_ahead_ps;  /* hits may go on until this instant */
    int core_first;         /* worker 0's core */
    int cores;              /* in all sockets */

    struct worker workers[EMULATOR_WORKERS];
    uint64_t heap[EMULATOR_WORKERS]; /* clock << 8 | number */
    int heap_count, alive;
    struct fiber *control; /* who called emulator_run() */
    bool cores_shared;     /* by two workers or more */
    uint64_t idle_pauses;  /* since anything was stored */
    const void *last_load;
    bool deadlock;
    char why[BACKEND_WHY_MAX];

    void (*hook)(void *arg, const struct backend_event *event);
    void *hook_arg;
};

extern struct emulator emulator;

/* -ENOMEM. The model and the arena stay the caller's. */
int emulator_open(struct model *model, const struct arena *arena, int core_first);
void emulator_close(void);

/* Runs fn(arg, 0 .. count-1) in virtual time, each on a core of its own, all starting at one
 * instant; returns how long the last one took in *elapsed_ps. -EDEADLK with why; -ENOMEM. */
int emulator_run(int count, void (*fn)(void *arg, int self), void *arg, uint64_t *elapsed_ps,
                 char why[BACKEND_WHY_MAX]);

/* Shared by the files of the emulator. */
uint64_t emulator_key(const struct worker *w);
void emulator_push(struct worker *w, uint64_t clock_ps);
void emulator_remove(struct worker *w);
void emulator_set_next(void);
void emulator_yield(void);          /* let the smallest clock go first */
void emulator_sleep(void);          /* run others until somebody pushes us */
void emulator_count_pause(void);    /* .. and find out whether all are stuck */
struct worker *emulator_new_worker(int core); /* -1: the first core nobody uses; NULL: none */
#endif
