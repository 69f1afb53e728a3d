/* backing.h -- what the memory behind a mapping is; nothing is changed.
 *
 * Sources: statfs(2), sysfs-bus-dax and /proc/self/smaps of the kernel's documentation, set_mempolicy
 * family of system calls; libpmem(7) for the environment variables that steer its choice of flush.
 * Threads: call from one.
 */
#ifndef HW_BACKING_H
#define HW_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BACKING_TEXT_MAX = 96 };

/* Each fills text and returns NULL, or returns the reason why it cannot. */

/* "anonymous memory", "tmpfs", "ext4", "xfs, fsdax", "devdax". path NULL: no file. */
const char *backing_kind(const char *path, bool dax, char text[BACKING_TEXT_MAX]);
/* What libpmem flushes with: "clwb", "clflushopt", "clflush", or "none (eADR)". */
const char *backing_flush(char text[BACKING_TEXT_MAX]);
/* The NUMA node of the page at base. */
const char *backing_node(const void *base, char text[BACKING_TEXT_MAX]);
/* How much of [base, base + size) is mapped by huge pages: "100 %". */
const char *backing_huge(const void *base, size_t size, char text[BACKING_TEXT_MAX]);

/* Whether the character device is a device-DAX one, and its bytes. */
bool backing_is_dax(unsigned major, unsigned minor);
bool backing_dax_size(unsigned major, unsigned minor, uint64_t *bytes);

#endif
