/* chase.h -- what one dependent random memory access costs on this machine.
 *
 * A cycle through every 64-byte line of a region, in random order (S. Sattolo, 1986), followed step
 * by step: no load can begin before the one before it has ended. Ordinary memory, huge pages where
 * the system gives them. The yardstick of hash-table papers: a lookup needs so many accesses.
 */
#ifndef HW_CHASE_H
#define HW_CHASE_H

#include <stdint.h>

/* Nanoseconds of a step, over `steps` of them in a region of at least 4096 bytes, after a quarter of
 * the steps untimed. 0, or -ENOMEM. */
int chase(uint64_t bytes, uint64_t steps, uint64_t seed, double *ns);

#endif
