/* device.h -- the modelled device without a store: the face of model/ for bench (and later for
 * characterising, replaying and fitting).
 */
#ifndef BACKENDS_DEVICE_H
#define BACKENDS_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/* Drives the device model alone (memory controller to media, no caches) with random 64 B accesses,
 * half reads and half writes, over span_bytes; returns host nanoseconds per access.
 * -EINVAL: no such profile (why says so). */
int device_random(const char *profile, uint64_t span_bytes, uint64_t accesses, uint64_t seed,
                  double *host_ns_per_access, char *why, size_t why_size);

#endif
