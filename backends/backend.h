/* backend.h -- where the bytes live and who runs the workers, chosen at run time by one word.
 *
 *     "emul:optane-100"   the emulated copy, on the machine that the profile describes
 *     "dram"              the native copy, on this machine's ordinary memory
 *     "pmem:PATH"         the native copy, on what libpmem maps there: a file, a directory (then an
 *                         unnamed file in it, gone at the end) or a /dev/dax device
 *
 * A backend owns two regions (pool and volatile), runs workers on them, tells the time and counts.
 * Both copies of a store can run on the regions of any backend: the runner pre-loads with the
 * native copy and goes on with the emulated one, on the same handle.
 *
 * A measured window:   backend_begin()  ..backend_run()..  backend_end(&window)
 *   begin   writes back what is dirty in the modelled caches and buffers, and starts counting
 *   end     stops; then what the window left dirty is written back and counted as the residual
 *
 * Errors: set-up functions fill why (one line: what, why, what to do) and return -errno.
 * Threads: one control thread calls these; workers call backend_now_ps and backend_done_ps.
 */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/pm.h"

enum { BACKEND_WHY_MAX = 512, BACKEND_COUNTERS_MAX = 32 };

/* Which compiled copy of a store runs. */
enum target { TARGET_NATIVE, TARGET_COUNTED, TARGET_EMUL, TARGETS };

/* Native runs make one pass per purpose; the emulator needs only the first. */
enum pass {
    PASS_THROUGHPUT, /* no clock and no counter inside */
    PASS_LATENCY,    /* one operation in 16 is timed */
    PASS_COUNTING,   /* the counted copy; never timed */
};

struct backend_options {
    uint64_t pool_bytes;     /* capacity of the persistent region, rounded up to 2 MiB */
    uint64_t volatile_bytes; /* address space of the volatile region; memory only where touched */
    const char *pool_path;   /* a file to keep, or NULL for memory that goes with the backend; NULL
                                for pmem, whose spec names it */
    bool reuse, overwrite;   /* what to do when the pool's file exists; neither: -EEXIST */
    int threads;             /* the most workers backend_run() will be asked for */
    int node, memory_node;   /* sockets for workers and for memory; -1: the first */
    const char *const *profile_sets; /* "name=value" lines over the profile, for emul */
    int profile_set_count;
    uint64_t seed; /* of the model's own random choices */
};

/* One counter under its one name. Unknown is not zero: then reason says why. */
struct counter {
    const char *name;   /* "imc_write_bytes" */
    const char *source; /* "model", "counting pass", ..; NULL when not known */
    const char *reason; /* why it is not known; NULL when it is */
    uint64_t value;
};

struct window {
    uint64_t elapsed_ps;      /* of its runs: from the first worker's start to the last one's end */
    double host_seconds;      /* what it cost the host */
    int counter_count;
    struct counter counters[BACKEND_COUNTERS_MAX];
    uint64_t residual_imc_write_bytes, residual_media_write_bytes;
    bool residual_known;
};

struct backend_info {
    const char *kind;           /* "emul", "dram", "pmem" */
    const char *profile;        /* "optane-100"; NULL when native */
    const char *seconds_source; /* "model", "clock_gettime" */
    int cores;                  /* workers that can each have a core of their own */
    int cores_per_socket;
    bool emulated;
    bool persistent; /* the pool survives a power cut, says libpmem */
};

struct backend;

/* Opens the backend that spec names.
 * -EINVAL: spec, profile or an option is wrong; -EEXIST, -ENOENT, -EIO, -ENOSPC: the pool's file,
 * disk or device; -ENOMEM: not enough memory; -ENODEV: this machine lacks what was asked; -EBUSY:
 * another process has the pool's file, or this one has an emulated machine already. */
int backend_open(struct backend **b, const char *spec, const struct backend_options *options,
                 char why[BACKEND_WHY_MAX]);
void backend_close(struct backend *b);

/* Checks spec (and its profile and sets) without opening: 0 or -EINVAL with why. */
int backend_check(const char *spec, const struct backend_options *options,
                  char why[BACKEND_WHY_MAX]);

const struct backend_info *backend_info(const struct backend *b);

/* What the pool's memory is, natively (machine.h); none in emulation. Returns how many. */
struct machine_fact;
int backend_facts(const struct backend *b, const struct machine_fact **facts);

/* As if the machine had been switched off and on: volatile memory reads as zeroes, an emulated
 * machine's caches and buffers are empty. Pool and store must be closed. -ENOMEM. */
int backend_restart(struct backend *b, char why[BACKEND_WHY_MAX]);

struct pm_region *backend_pool(struct backend *b);
struct pm_region *backend_volatile(struct backend *b);

/* Runs worker(arg, self) for self = 0..threads-1, each on a core of its own, and waits for all.
 * The copy of the store that the workers call must be target's. Native code on an emulating backend
 * (pre-load) runs on real threads. -EDEADLK: the emulated workers all wait; why says for what.
 * -EIO: pool memory was lost under the workers (bus.h); the pool must not be touched again. */
int backend_run(struct backend *b, enum target target, int threads,
                void (*worker)(void *arg, int self), void *arg, char why[BACKEND_WHY_MAX]);

void backend_begin(struct backend *b, enum pass pass);
void backend_end(struct backend *b, struct window *window);

/* The calling worker's clock, and the instant at which its last outstanding load has arrived (an
 * operation's end; on native the same as now). */
uint64_t backend_now_ps(const struct backend *b);
uint64_t backend_done_ps(const struct backend *b);

/* One event of the emulator, for explain. */
struct backend_event {
    const char *word; /* "load", "flush", .. */
    const char *file, *function;
    int line, worker;
    enum pm_kind kind;     /* whose memory; meaningless when size is 0 */
    uint64_t offset;       /* from the region's base */
    uint64_t size;         /* bytes; 0 for fence, use, at, work */
    const char *stage;     /* who answered: "L1", "LLC", "read buffer", "AIT", "media", "WPQ", .. */
    uint64_t start_ps, clock_ps; /* when it issued; the worker's clock after it */
    uint64_t done_ps;      /* when its data arrived, or it became durable */
    int xpline_bytes;      /* bytes of its XPLine that wait in the XPBuffer; -1: not in it */
    uint64_t media_reads, media_writes; /* XPLines, caused by this event */
};

/* Calls hook after every event until set to NULL. -ENOTSUP on native backends. */
int backend_trace(struct backend *b, void (*hook)(void *arg, const struct backend_event *e),
                  void *arg);

#endif
