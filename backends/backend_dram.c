/* backend_dram.c -- the native copy on this machine's ordinary memory: the baseline. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "backends/backend_face.h"
#include "backends/machine.h"
#include "backends/native.h"

static int dram_check(const char *detail, const struct backend_options *o,
                      char why[BACKEND_WHY_MAX])
{
    (void)detail;
    if (o->threads < 1 || o->threads > NATIVE_NUMBERS) {
        snprintf(why, BACKEND_WHY_MAX, "%d threads: dram runs 1 to %d", o->threads, NATIVE_NUMBERS);
        return -EINVAL;
    }
    if (o->node > 0 || o->memory_node > 0) {
        snprintf(why, BACKEND_WHY_MAX,
                 "dram cannot place threads or memory on a node; leave --node out, or use emul");
        return -ENODEV;
    }
    return 0;
}

static int dram_open(struct backend *b, const char *detail, const struct backend_options *o,
                     char why[BACKEND_WHY_MAX])
{
    (void)detail, (void)o, (void)why;
    b->info = (struct backend_info){.kind = "dram",
                                    .seconds_source = "clock_gettime",
                                    .cores = machine_cpus(),
                                    .cores_per_socket = machine_cpus()};
    return 0;
}

static void dram_close(struct backend *b)
{
    (void)b;
}

static int dram_run(struct backend *b, int threads, void (*worker)(void *arg, int self), void *arg,
                    uint64_t *elapsed_ps, char why[BACKEND_WHY_MAX])
{
    (void)b, (void)threads, (void)worker, (void)arg, (void)elapsed_ps;
    snprintf(why, BACKEND_WHY_MAX, "the emulated copy cannot run on dram");
    return -EINVAL;
}

static void dram_begin(struct backend *b)
{
    (void)b;
}

static void dram_end(struct backend *b, struct window *w)
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
    const char *no_imc = "no memory-controller counter is read on dram";
    const char *no_media = "ordinary memory has no Optane media";
    window_unknown(w, "imc_read_bytes", no_imc);
    window_unknown(w, "imc_write_bytes", no_imc);
    window_unknown(w, "media_read_bytes", no_media);
    window_unknown(w, "media_write_bytes", no_media);
    window_unknown(w, "dram_read_bytes", no_imc);
    window_unknown(w, "dram_write_bytes", no_imc);
    window_unknown(w, "evict_lines", no_imc);
}

static uint64_t dram_now(const struct backend *b)
{
    (void)b;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) * 1000;
}

const struct backend_ops backend_dram_ops = {
    .kind = "dram",
    .check = dram_check,
    .open = dram_open,
    .close = dram_close,
    .run = dram_run,
    .begin = dram_begin,
    .end = dram_end,
    .now_ps = dram_now,
    .done_ps = dram_now,
};
