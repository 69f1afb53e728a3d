/* topology.h -- facts about the machine we run on, read once; nothing is changed.
 *
 * Threads: call from one.
 */
#ifndef HW_TOPOLOGY_H
#define HW_TOPOLOGY_H

#include <stdbool.h>

enum { TOPOLOGY_TEXT_MAX = 128 };

/* Each fills text and returns NULL, or returns the reason why it cannot. */
const char *topology_cpu(char text[TOPOLOGY_TEXT_MAX]);             /* "Intel(R) Xeon(R) .." */
const char *topology_processors(char text[TOPOLOGY_TEXT_MAX]);      /* "2": that we may run on */
const char *topology_kernel(char text[TOPOLOGY_TEXT_MAX]);          /* "Linux 6.1.0 x86_64" */
const char *topology_governor(char text[TOPOLOGY_TEXT_MAX]);        /* "performance" */
const char *topology_huge_pages(char text[TOPOLOGY_TEXT_MAX]);      /* "madvise" */
const char *topology_virtual_machine(char text[TOPOLOGY_TEXT_MAX]); /* "yes" or "no" */

bool topology_has_flag(const char *flag); /* of /proc/cpuinfo; false if it cannot be read */

int topology_cpus(void); /* processors that this process may run on; at least 1 */

#endif
