/* emul.h -- events: what the emulated door calls. The heart of the emulator.
 *
 *     pm_load(p)  -->  emul_load(p)  -->  private caches (model/core.h)   hit: run on
 *                                   `-->  wait for our turn, then the rest of the chain (model/)
 *
 * Simulated threads are fibers on one host thread, each with a clock in picoseconds. At every
 * event that leaves a core's private caches the runnable fiber with the smallest clock goes next
 * (ties by number). Hits in private caches run ahead of the others by EMUL_RUN_AHEAD_PS at most.
 * Nothing here reads a host clock or a host address: the same seed gives the same run.
 *
 * An event returns at the simulated instant of the access. Copies (read, write, stream) make one
 * event per 64 B line, and copy that line before the next event.
 *
 * Threads: all fibers share one host thread. Outside emul_run() the words work too, on worker 0.
 */
#ifndef BACKENDS_EMUL_H
#define BACKENDS_EMUL_H

#include <stddef.h>
#include <stdint.h>

/* How far hits in private caches may run ahead of the slowest other thread before its turn. */
#define EMUL_RUN_AHEAD_PS 200000 /* 200 ns: about one trip to the memory, so order hardly changes */

struct pm_site {
    const char *file, *function;
    int line;
};

void emul_load(const void *p, size_t size, const struct pm_site *site);
void emul_store(const void *p, size_t size, const struct pm_site *site);
void emul_atomic(const void *p, size_t size, const struct pm_site *site);
void emul_read(void *dst, const void *p, size_t size, const struct pm_site *site);
void emul_write(void *p, const void *src, size_t size, const struct pm_site *site);
void emul_stream(void *p, const void *src, size_t size, const struct pm_site *site);
void emul_flush(const void *p, size_t size, const struct pm_site *site);
void emul_fence(const struct pm_site *site);
void emul_prefetch(const void *p, const struct pm_site *site);
void emul_at(const struct pm_site *site);
void emul_use(const struct pm_site *site);
void emul_pause(const struct pm_site *site);
void emul_work(uint64_t cycles, const struct pm_site *site);
int emul_self(void);

#endif
