/* machine.h -- what is here, and what can be counted: the face of hw/ and of the profiles for
 * experiments/. Changes nothing.
 */
#ifndef BACKENDS_MACHINE_H
#define BACKENDS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One fact about the machine a result was made on. value is NULL when it cannot be read; then
 * reason says why. Strings live until the program ends. */
struct machine_fact {
    const char *name;   /* "cpu", "kernel", "governor", "huge_pages", "virtual_machine", .. */
    const char *value;
    const char *reason;
};

/* All facts, in a fixed order; returns how many. */
int machine_facts(const struct machine_fact **facts);

/* The facts of the memory behind a pool: memory, persistence, flush, numa_node, huge_page_share.
 * path: its file, directory or device, NULL for none. persistent: as libpmem says. Strings live
 * until the next call. Returns how many. */
enum { MACHINE_MEMORY_FACTS = 5 };
int machine_memory(const char *path, const void *base, size_t size, bool persistent,
                   struct machine_fact facts[MACHINE_MEMORY_FACTS]);

/* Nanoseconds of one dependent random access to `bytes` of this machine's ordinary memory
 * (hw/chase.h). 0, or -ENOMEM. */
int machine_access_ns(uint64_t bytes, uint64_t seed, double *ns);

/* Whether a character device is a device-DAX one, and how many bytes it has. */
bool machine_is_dax(unsigned major, unsigned minor);
bool machine_dax_size(unsigned major, unsigned minor, uint64_t *bytes);

int machine_cpus(void); /* processors that this process may run on */

struct machine_profile {
    const char *name, *summary;
};

/* Built-in profiles, sorted by name; returns how many. */
int machine_profiles(const struct machine_profile **profiles);

#endif
