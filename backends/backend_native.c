/* backend_native.c -- the native copy on real memory: "dram", ordinary memory, is the baseline, and
 * "pmem:PATH" what libpmem maps.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "backends/backend_face.h"
#include "backends/machine.h"
#include "backends/native.h"

static int native_check(const char *detail, const struct backend_options *o,
                        char why[BACKEND_WHY_MAX])
{
    (void)detail;
    if (o->threads < 1 || o->threads > NATIVE_NUMBERS) {
        snprintf(why, BACKEND_WHY_MAX, "%d threads: native code runs 1 to %d", o->threads,
                 NATIVE_NUMBERS);
        return -EINVAL;
    }
    if (o->node > 0 || o->memory_node > 0) {
        snprintf(why, BACKEND_WHY_MAX,
                 "dram and pmem cannot place threads or memory on a node; leave --node out, or use "
                 "emul");
        return -ENODEV;
    }
    return 0;
}

static int pmem_check(const char *detail, const struct backend_options *o,
                      char why[BACKEND_WHY_MAX])
{
    if (!detail || !*detail) {
        snprintf(why, BACKEND_WHY_MAX,
                 "pmem needs a place: give pmem:FILE, pmem:DIRECTORY or pmem:/dev/daxN.M");
        return -EINVAL;
    }
    if (o->pool_path) {
        snprintf(why, BACKEND_WHY_MAX, "pmem:%s names the pool's file already; leave --pool out",
                 detail);
        return -EINVAL;
    }
    const int error = native_check(detail, o, why);
    return error ? error : arena_check_pmem(detail, o, why);
}

static int dram_map(struct backend *b, const char *detail, const struct backend_options *o,
                    char why[BACKEND_WHY_MAX])
{
    (void)detail;
    return arena_open(&b->arena, o, why);
}

static int pmem_map(struct backend *b, const char *detail, const struct backend_options *o,
                    char why[BACKEND_WHY_MAX])
{
    return arena_open_pmem(&b->arena, detail, o, why);
}

static int native_open(struct backend *b, const char *detail, const struct backend_options *o,
                       char why[BACKEND_WHY_MAX])
{
    (void)detail, (void)why;
    const char *path = b->ops->takes_detail ? detail : o->pool_path;
    b->info = (struct backend_info){.kind = b->ops->kind,
                                    .seconds_source = "clock_gettime",
                                    .cores = machine_cpus(),
                                    .cores_per_socket = machine_cpus(),
                                    .persistent = b->arena.persistent};
    b->fact_count = machine_memory(path, b->arena.pool.base, b->arena.pool.size,
                                   b->arena.persistent, b->facts);
    return 0;
}

static void native_close(struct backend *b)
{
    (void)b;
}

static int native_run(struct backend *b, int threads, void (*worker)(void *arg, int self),
                      void *arg, uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX])
{
    (void)threads, (void)worker, (void)arg, (void)elapsed_ps;
    snprintf(why, BACKEND_WHY_MAX, "the emulated copy cannot run on %s", b->ops->kind);
    return -EINVAL;
}

static void native_begin(struct backend *b)
{
    (void)b;
}

static void native_end(struct backend *b, struct window *w)
{
    if (b->pass == PASS_COUNTING) {
        window_known(w, "flush_lines", b->counted.flush_lines, "counting pass");
        window_known(w, "stream_lines", b->counted.stream_lines, "counting pass");
        window_known(w, "fences", b->counted.fences, "counting pass");
    } else {
        const char *reason = "only the counting pass counts";
        window_unknown(w, "flush_lines", reason);
        window_unknown(w, "stream_lines", reason);
        window_unknown(w, "fences", reason);
    }
    const char *no_imc = "no memory-controller counter is read natively";
    const char *no_media = b->arena.persistent ? "no counter of the DIMM is read natively"
                                               : "ordinary memory has no Optane media";
    window_unknown(w, "imc_read_bytes", no_imc);
    window_unknown(w, "imc_write_bytes", no_imc);
    window_unknown(w, "media_read_bytes", no_media);
    window_unknown(w, "media_write_bytes", no_media);
    window_unknown(w, "dram_read_bytes", no_imc);
    window_unknown(w, "dram_write_bytes", no_imc);
    window_unknown(w, "evict_lines", no_imc);
}

static uint64_t native_now(const struct backend *b)
{
    (void)b;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * 1000;
}

#define NATIVE_OPS                                                                                 \
    .open = native_open, .close = native_close, .run = native_run, .begin = native_begin,          \
    .end = native_end, .now_ps = native_now, .done_ps = native_now

const struct backend_ops backend_dram_ops = {
    .kind = "dram", .check = native_check, .map = dram_map, NATIVE_OPS};

const struct backend_ops backend_pmem_ops = {
    .kind = "pmem", .takes_detail = true, .check = pmem_check, .map = pmem_map, NATIVE_OPS};
