/* pm.h -- the door: every access to persistent or shared volatile memory is one of these words.
 *
 *     core/  --->  pm.h  --+-->  pm_native.h    each word is an instruction (or the libpmem call)
 *                             +-->  pm_counted.h   the same, and counted; never timed
 *                             +-->  pm_emul.h      each word is an event of the machine model
 *
 * A file of core/ is compiled once per target; the build defines PM_TARGET as native, counted or
 * emul. Neutral code (backends, experiments) compiles without PM_TARGET and gets the types only.
 *
 * The words, and when to use which:
 *
 *   pm_at(region, offset)     the only way from an offset to a pointer. Waits for the loads
 *                             outstanding: an address needs its value. Arithmetic within an extent
 *                             is free.
 *   pm_load pm_store          plain: what a lock protects, or nobody else can see yet.
 *   pm_load_relaxed _acquire  what a lock-free reader may see, or another thread may touch now.
 *   pm_store_relaxed _release likewise. A commit mark is a pm_store_release of at most 8 aligned
 *                             bytes: a plain store may legally be merged or split.
 *   pm_cas(p, &old, new)      true if swapped; else old holds what is there. Waits like pm_at.
 *   pm_fetch_add(p, n)        returns the old value. Waits like pm_at.
 *   pm_read(dst, p, n)        copy out; pm_write(p, src, n) copy in; n >= 0 bytes, any alignment.
 *   pm_stream(p, src, n)      copy in past the caches (non-temporal); durable at the next fence.
 *   pm_flush(p, n)            begin writing back the lines that hold [p, p+n).
 *   pm_fence()                wait until this thread's flushes and streams are durable.
 *   pm_persist(p, n)          flush, then fence.
 *   pm_prefetch(p)            a hint; nothing waits for it.
 *   pm_use()                  wait for the loads outstanding, once, where a branch depends on loaded
 *                             data in a way no predictor guesses (a probe's hit or miss).
 *   pm_pause()                inside a loop that waits for another thread.
 *   pm_work(cycles)           computing (hashing, comparing); shared helpers only, see hash.h.
 *   pm_self()                 this worker's number, from 0.
 *   pm_look(p)                what is there, as no event: for statistics, so that looking does not
 *                             change what is measured. Never for what an operation decides.
 *
 * At most one word between two sequence points: compilers order arguments differently, and the
 * model would see another order. A test checks it.
 *
 * PM marks a pointer into such memory. Under clang it is noderef: a naked access does not compile.
 * Array members are reached as &b->slots[i]; a test forbids the leaks the compiler does not see.
 */
#ifndef BACKENDS_PM_H
#define BACKENDS_PM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PM_LINE 64    /* bytes in a cache line: what a flush writes back */
#define PM_XPLINE 256 /* bytes in an XPLine: what Optane's media writes (Yang et al., FAST '20) */

/* Byte offset into a region. 0 is never the offset of an object: it means "none". */
typedef uint64_t pm_off;

enum pm_kind {
    PM_PERSISTENT, /* a pool: what survives */
    PM_VOLATILE,   /* shared DRAM: directories, queues, epochs; gone at a power cut */
};

/* A stretch of memory that offsets count from. Its base may differ in every run. */
struct pm_region {
    char *base;
    uint64_t size; /* bytes that may be used from base on */
    enum pm_kind kind;
};

#if defined __clang__
#define PM __attribute__((noderef))
#define PM_OPEN_ _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnoderef\"")
#define PM_SHUT_ _Pragma("clang diagnostic pop")
#else
#define PM
#define PM_OPEN_
#define PM_SHUT_
#endif

/* The address as a plain pointer, for a word's own use. */
#define PM_NAKED_(p) ((void *)(uintptr_t)(p))

#define PM_GLUE2_(a, b) a##_##b
#define PM_GLUE_(a, b) PM_GLUE2_(a, b)
#define PM_STR2_(x) #x
#define PM_STR_(x) PM_STR2_(x)

#ifndef PM_TARGET
/* Neutral code may read prototypes; what it calls by a plain name does not link. */
#define PM_EXPORT(name)
#else
/* The one global name of a module: PM_NAME(esh) is esh_native, esh_counted or esh_emul. */
#define PM_NAME(name) PM_GLUE_(name, PM_TARGET)
/* For a module of several files: the prototype carries the target's name for the linker,
 * source and calls keep the plain one:  int pool_open(struct pool *p) PM_EXPORT(pool_open); */
#define PM_EXPORT(name) __asm__(PM_STR_(PM_NAME(name)))

#define PM_KIND_native 1
#define PM_KIND_counted 2
#define PM_KIND_emul 3
#define PM_KIND_ PM_GLUE_(PM_KIND, PM_TARGET)

#if PM_KIND_ == PM_KIND_emul
#include "backends/pm_emul.h"
#elif PM_KIND_ == PM_KIND_counted
#include "backends/pm_counted.h"
#elif PM_KIND_ == PM_KIND_native
#include "backends/pm_native.h"
#else
#error "PM_TARGET is native, counted or emul"
#endif
#endif

#endif
