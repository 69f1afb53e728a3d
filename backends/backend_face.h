/* backend_face.h -- what a kind of backend implements: backend.h dispatches through this table. */
#ifndef BACKENDS_BACKEND_FACE_H
#define BACKENDS_BACKEND_FACE_H

#include "backends/arena.h"
#include "backends/backend.h"
#include "backends/machine.h"

struct backend_ops {
    const char *kind;
    /* "emul:NAME" has a detail, NAME; "dram" has none (NULL). */
    bool takes_detail;
    int (*check)(const char *detail, const struct backend_options *o, char why[BACKEND_WHY_MAX]);
    int (*map)(struct backend *b, const char *detail, const struct backend_options *o,
               char why[BACKEND_WHY_MAX]); /* opens b->arena */
    int (*open)(struct backend *b, const char *detail, const struct backend_options *o,
                char why[BACKEND_WHY_MAX]);
    void (*close)(struct backend *b);
    /* What a restart does besides wiping volatile memory; NULL: nothing. */
    int (*restart)(struct backend *b, char why[BACKEND_WHY_MAX]);
    /* Runs workers of the backend's own kind; native workers are backend.c's. */
    int (*run)(struct backend *b, int threads, void (*worker)(void *arg, int self), void *arg,
               uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX]);
    void (*begin)(struct backend *b);
    void (*end)(struct backend *b, struct window *w);
    uint64_t (*now_ps)(const struct backend *b);
    uint64_t (*done_ps)(const struct backend *b);
    int (*trace)(struct backend *b, void (*hook)(void *arg, const struct backend_event *e),
                 void *arg);
};

struct backend {
    const struct backend_ops *ops;
    struct arena arena;
    struct backend_info info;
    struct machine_fact facts[MACHINE_MEMORY_FACTS];
    int fact_count;
    enum pass pass;
    uint64_t elapsed_ps;     /* of the runs since begin */
    double host_start;       /* seconds */
    struct counted {
        uint64_t flush_lines, stream_lines, fences;
    } counted; /* by counted workers since begin */
    void *own;               /* the kind's own state */
    char profile_name[64];
};

extern const struct backend_ops backend_emul_ops, backend_dram_ops, backend_pmem_ops;

/* Real threads, pinned one per processor while there are enough. -EAGAIN with why. */
int backend_run_native(struct backend *b, int threads, void (*worker)(void *arg, int self),
                       void *arg, uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX]);

/* Appends a counter to the window; reason for one that is not known. */
void window_known(struct window *w, const char *name, uint64_t value, const char *source);
void window_unknown(struct window *w, const char *name, const char *reason);

#endif
