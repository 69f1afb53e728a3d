/* bus.h -- when mapped memory is lost (SIGBUS), the work on it ends and not the process.
 *
 *     the file was cut short, its disk is full at a page never written, the medium failed
 *        worker that touches it   --SIGBUS-->  leaves its bus_run()
 *        others that wait for it  --bus_check() in their waiting loop-->  leave theirs
 *
 * What the work allocated is leaked, and the memory must not be used again: it is half of
 * something. A SIGBUS anywhere else, or outside of bus_run(), kills the process as ever.
 *
 * Threads: any may run work; bus_watch and bus_unwatch when no work runs.
 */
#ifndef BACKENDS_BUS_H
#define BACKENDS_BUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Watches [base, base + size). False: BUS_AREAS_MAX are watched already. */
enum { BUS_AREAS_MAX = 8 };
bool bus_watch(const void *base, size_t size);
void bus_unwatch(const void *base);

/* Runs work(arg); false if watched memory was lost meanwhile. */
bool bus_run(void (*work)(void *arg), void *arg);

/* The byte of the area at base that was lost first; false if none was. */
bool bus_lost(const void *base, uint64_t *byte);

/* Leaves bus_run() if watched memory was lost by another thread. */
void bus_check(void);

#endif
