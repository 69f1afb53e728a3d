/* machine.c -- see machine.h. */
#include "backends/machine.h"

#include <stdlib.h>
#include <string.h>

#include "hw/topology.h"
#include "model/profile.h"

#ifdef __clang__
#define COMPILER __VERSION__ /* "Debian Clang 14.0.6" */
#else
#define COMPILER "gcc " __VERSION__
#endif

enum { PROFILES_MAX = 32 };

static const struct {
    const char *name;
    const char *(*read)(char text[TOPOLOGY_TEXT_MAX]);
} readers[] = {
    {"cpu", topology_cpu},
    {"processors", topology_processors},
    {"kernel", topology_kernel},
    {"governor", topology_governor},
    {"huge_pages", topology_huge_pages},
    {"virtual_machine", topology_virtual_machine},
};

enum { READERS = sizeof readers / sizeof readers[0] };

int machine_facts(const struct machine_fact **facts)
{
    static char texts[READERS][TOPOLOGY_TEXT_MAX];
    static struct machine_fact all[READERS + 1];
    for (int i = 0; i < READERS; i++) {
        const char *reason = readers[i].read(texts[i]);
        all[i] = (struct machine_fact){
            .name = readers[i].name, .value = reason ? NULL : texts[i], .reason = reason};
    }
    all[READERS] = (struct machine_fact){.name = "compiler", .value = COMPILER};
    *facts = all;
    return READERS + 1;
}

int machine_cpus(void)
{
    return topology_cpus();
}

static int by_name(const void *a, const void *b)
{
    const struct machine_profile *p = a, *q = b;
    return strcmp(p->name, q->name);
}

int machine_profiles(const struct machine_profile **profiles)
{
    static struct machine_profile all[PROFILES_MAX];
    const int count = profile_count() < PROFILES_MAX ? profile_count() : PROFILES_MAX;
    for (int i = 0; i < count; i++)
        profile_builtin(i, &all[i].name, &all[i].summary);
    qsort(all, (size_t)count, sizeof all[0], by_name);
    *profiles = all;
    return count;
}
