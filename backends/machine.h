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

int machine_cpus(void); /* processors that this process may run on */

struct machine_profile {
    const char *name, *summary;
};

/* Built-in profiles, sorted by name; returns how many. */
int machine_profiles(const struct machine_profile **profiles);

#endif
