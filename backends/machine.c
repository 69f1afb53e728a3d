/* machine.c -- see machine.h. */
#include "backends/machine.h"

#include <libpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/backing.h"
#include "hw/chase.h"
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

static struct machine_fact fact(const char *name, const char *text, const char *reason)
{
    return (struct machine_fact){.name = name, .value = reason ? NULL : text, .reason = reason};
}

int machine_memory(const char *path, const void *base, size_t size, bool persistent,
                   struct machine_fact facts[MACHINE_MEMORY_FACTS])
{
    static char kind[BACKING_TEXT_MAX], flush[BACKING_TEXT_MAX], node[BACKING_TEXT_MAX],
        huge[BACKING_TEXT_MAX];
    /* Tests of persistent code set it where there is no such memory. */
    const char *forced = getenv("PMEM_IS_PMEM_FORCE");
    const bool told = forced && strcmp(forced, "1") == 0;
    const char *survives = !path                ? "none: it goes with the process"
                           : persistent && told ? "claimed by PMEM_IS_PMEM_FORCE, not known"
                           : persistent         ? "survives a power cut"
                                                : "survives a process crash, no power cut";
    int n = 0;
    facts[n++] = fact("memory", kind, backing_kind(path, persistent && !told, kind));
    facts[n++] = fact("persistence", survives, NULL);
    /* eADR: libpmem then flushes nothing, unless the environment says otherwise. */
    const char *reason = backing_flush(flush);
    if (!reason && pmem_has_auto_flush() == 1)
        snprintf(flush, sizeof flush, "none (eADR)");
    facts[n++] = fact("flush", flush, reason);
    facts[n++] = fact("numa_node", node, backing_node(base, node));
    facts[n++] = fact("huge_page_share", huge, backing_huge(base, size, huge));
    return n;
}

int machine_access_ns(uint64_t bytes, uint64_t seed, double *ns)
{
    return chase(bytes, UINT64_C(4) << 20, seed, ns);
}

bool machine_is_dax(unsigned major, unsigned minor)
{
    return backing_is_dax(major, minor);
}

bool machine_dax_size(unsigned major, unsigned minor, uint64_t *bytes)
{
    return backing_dax_size(major, minor, bytes);
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
