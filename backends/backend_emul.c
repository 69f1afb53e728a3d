/* backend_emul.c -- the emulated copy on a described machine: fibers, model, arena. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend_face.h"
#include "backends/emulator.h"
#include "backends/machine.h"
#include "backends/nearest.h"

#define DEFAULT_PROFILE "optane-100"

struct own {
    struct model *model;
    struct model_counters start;
    struct profile profile;
    uint64_t seed;
    int first_core;
};

/* For a name that is no profile's: the one most like it. */
static void suggest_profile(const char *name, char why[BACKEND_WHY_MAX])
{
    const struct machine_profile *profiles;
    const int count = machine_profiles(&profiles);
    const char *best = DEFAULT_PROFILE;
    for (int i = 0; i < count; i++)
        if (nearest_distance(name, profiles[i].name) < nearest_distance(name, best))
            best = profiles[i].name;
    snprintf(why, BACKEND_WHY_MAX,
             "there is no profile '%.64s'; the nearest is %s (a file's name needs a slash or a dot)",
             name, best);
}

static int read_profile(struct profile *p, const char *detail, const struct backend_options *o,
                        char why[BACKEND_WHY_MAX])
{
    int error = profile_load(p, detail ? detail : DEFAULT_PROFILE, why, BACKEND_WHY_MAX);
    if (error && detail && !strpbrk(detail, "/."))
        suggest_profile(detail, why);
    for (int i = 0; !error && i < o->profile_set_count; i++)
        error = profile_set(p, o->profile_sets[i], why, BACKEND_WHY_MAX);
    return error ? -EINVAL : 0; /* no such profile, too: the spec is wrong */
}

static int emul_check(const char *detail, const struct backend_options *o,
                      char why[BACKEND_WHY_MAX])
{
    struct profile p;
    const int error = read_profile(&p, detail, o, why);
    if (error)
        return error;
    const int cores = (int)(p.sockets * p.cores);
    if (o->threads < 1 || o->threads > cores) {
        snprintf(why, BACKEND_WHY_MAX,
                 "%d threads: profile %s has %d sockets of %d cores; use 1 to %d --threads",
                 o->threads, p.name, (int)p.sockets, (int)p.cores, cores);
        return -EINVAL;
    }
    if (o->node >= p.sockets || o->memory_node >= p.sockets) {
        snprintf(why, BACKEND_WHY_MAX, "profile %s has nodes 0 to %d", p.name, (int)p.sockets - 1);
        return -EINVAL;
    }
    if (o->memory_node > 0) {
        snprintf(why, BACKEND_WHY_MAX,
                 "memory lies on node 0 in emulation; use --node to move the threads instead");
        return -EINVAL;
    }
    return 0;
}

/* A machine whose caches are empty. */
static int switch_on(struct backend *b, struct own *own, char why[BACKEND_WHY_MAX])
{
    int error = model_create(&own->model, &own->profile, b->arena.pool.size, own->seed, why,
                             BACKEND_WHY_MAX);
    if (error)
        return error;
    error = emulator_open(own->model, &b->arena, own->first_core);
    if (error) {
        snprintf(why, BACKEND_WHY_MAX, "no memory for the emulator");
        model_destroy(own->model);
        own->model = NULL;
    }
    return error;
}

static int emul_restart(struct backend *b, char why[BACKEND_WHY_MAX])
{
    struct own *own = b->own;
    emulator_close();
    model_destroy(own->model);
    own->model = NULL;
    return switch_on(b, own, why);
}

static int emul_map(struct backend *b, const char *detail, const struct backend_options *o,
                    char why[BACKEND_WHY_MAX])
{
    (void)detail;
    return arena_open(&b->arena, o, why);
}

static int emul_open(struct backend *b, const char *detail, const struct backend_options *o,
                     char why[BACKEND_WHY_MAX])
{
    struct profile p;
    int error = read_profile(&p, detail, o, why);
    if (error)
        return error;
    if (emulator.model) {
        snprintf(why, BACKEND_WHY_MAX, "an emulated machine is open already; close it first");
        return -EBUSY;
    }
    struct own *own = calloc(1, sizeof *own);
    if (!own) {
        snprintf(why, BACKEND_WHY_MAX, "no memory for the emulator");
        return -ENOMEM;
    }
    own->profile = p;
    own->seed = o->seed;
    own->first_core = o->node > 0 ? (int)p.cores * o->node : 0;
    error = switch_on(b, own, why);
    if (error) {
        free(own);
        return error;
    }
    snprintf(b->profile_name, sizeof b->profile_name, "%s", p.name);
    b->own = own;
    b->info = (struct backend_info){.kind = "emul",
                                    .profile = b->profile_name,
                                    .seconds_source = "model",
                                    .cores = (int)(p.sockets * p.cores),
                                    .cores_per_socket = (int)p.cores,
                                    .emulated = true};
    return 0;
}

static void emul_close(struct backend *b)
{
    struct own *own = b->own;
    if (own->model) { /* a restart may have failed */
        emulator_close();
        model_destroy(own->model);
    }
    free(own);
}

static int emul_run(struct backend *b, int threads, void (*worker)(void *arg, int self), void *arg,
                    uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX])
{
    if (threads > b->info.cores) {
        snprintf(why, BACKEND_WHY_MAX, "%d threads: profile %s has %d cores; use fewer --threads",
                 threads, b->profile_name, b->info.cores);
        return -EINVAL;
    }
    return emulator_run(threads, worker, arg, elapsed_ps, why);
}

static void emul_begin(struct backend *b)
{
    struct own *own = b->own;
    model_drain(own->model);
    model_counters(own->model, &own->start);
}

static void emul_end(struct backend *b, struct window *w)
{
    struct own *own = b->own;
    struct model_counters end, drained;
    model_counters(own->model, &end);
    model_drain(own->model);
    model_counters(own->model, &drained);
    w->residual_known = true;
    w->residual_imc_write_bytes = drained.imc_write_bytes - end.imc_write_bytes;
    w->residual_media_write_bytes = drained.media_write_bytes - end.media_write_bytes;

    const struct model_counters *s = &own->start;
    window_known(w, "flush_lines", end.flush_lines - s->flush_lines, "model");
    window_known(w, "stream_lines", end.stream_lines - s->stream_lines, "model");
    window_known(w, "fences", end.fences - s->fences, "model");
    window_known(w, "imc_read_bytes", end.imc_read_bytes - s->imc_read_bytes, "model");
    window_known(w, "imc_write_bytes", end.imc_write_bytes - s->imc_write_bytes, "model");
    window_known(w, "media_read_bytes", end.media_read_bytes - s->media_read_bytes, "model");
    window_known(w, "media_write_bytes", end.media_write_bytes - s->media_write_bytes, "model");
    window_known(w, "dram_read_bytes", end.dram_read_bytes - s->dram_read_bytes, "model");
    window_known(w, "dram_write_bytes", end.dram_write_bytes - s->dram_write_bytes, "model");
    window_known(w, "evict_lines", end.evict_lines - s->evict_lines, "model");
}

static uint64_t emul_now(const struct backend *b)
{
    (void)b;
    return core_now(emulator.self->core);
}

static uint64_t emul_done(const struct backend *b)
{
    (void)b;
    const struct core *c = emulator.self->core;
    const uint64_t now = core_now(c), loads = core_loads(c);
    return loads > now ? loads : now;
}

static int emul_trace(struct backend *b, void (*hook)(void *arg, const struct backend_event *e),
                      void *arg)
{
    (void)b;
    emulator.hook = hook;
    emulator.hook_arg = arg;
    return 0;
}

const struct backend_ops backend_emul_ops = {
    .kind = "emul",
    .takes_detail = true,
    .check = emul_check,
    .map = emul_map,
    .open = emul_open,
    .restart = emul_restart,
    .close = emul_close,
    .run = emul_run,
    .begin = emul_begin,
    .end = emul_end,
    .now_ps = emul_now,
    .done_ps = emul_done,
    .trace = emul_trace,
};
