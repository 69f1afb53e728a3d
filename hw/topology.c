/* topology.c -- see topology.h. Sources: proc(5), the kernel's cpufreq and transhuge pages. */
#include "hw/topology.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static void first_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

/* The value of "key : value" in /proc/cpuinfo. */
static const char *from_cpuinfo(const char *key, char *text, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    static char line[8192]; /* the flags line is long */
    const char *reason = "/proc/cpuinfo does not say";
    if (!f)
        return "/proc/cpuinfo cannot be read";
    while (fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) == 0 && colon) {
            snprintf(text, size, "%s", colon + (colon[1] == ' ' ? 2 : 1));
            first_line(text);
            reason = NULL;
            break;
        }
    }
    fclose(f);
    return reason;
}

static const char *from_file(const char *path, char text[TOPOLOGY_TEXT_MAX], const char *reason)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return reason;
    const char *got = fgets(text, TOPOLOGY_TEXT_MAX, f);
    fclose(f);
    if (!got)
        return reason;
    first_line(text);
    return NULL;
}

const char *topology_cpu(char text[TOPOLOGY_TEXT_MAX])
{
    return from_cpuinfo("model name", text, TOPOLOGY_TEXT_MAX);
}

const char *topology_processors(char text[TOPOLOGY_TEXT_MAX])
{
    snprintf(text, TOPOLOGY_TEXT_MAX, "%d", topology_cpus());
    return NULL;
}

const char *topology_kernel(char text[TOPOLOGY_TEXT_MAX])
{
    struct utsname u;
    if (uname(&u) != 0)
        return "uname failed";
    snprintf(text, TOPOLOGY_TEXT_MAX, "%.20s %.60s %.20s", u.sysname, u.release, u.machine);
    return NULL;
}

const char *topology_governor(char text[TOPOLOGY_TEXT_MAX])
{
    return from_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text,
                     "no cpufreq here (a virtual machine, or fixed by the firmware)");
}

const char *topology_huge_pages(char text[TOPOLOGY_TEXT_MAX])
{
    char all[TOPOLOGY_TEXT_MAX];
    const char *reason = from_file("/sys/kernel/mm/transparent_hugepage/enabled", all,
                                   "this kernel has no transparent huge pages");
    if (reason)
        return reason;
    const char *open = strchr(all, '['), *shut = strchr(all, ']');
    if (!open || !shut || shut < open)
        return "transparent_hugepage/enabled has a form not known";
    snprintf(text, TOPOLOGY_TEXT_MAX, "%.*s", (int)(shut - open - 1), open + 1);
    return NULL;
}

/* NULL, and whether the flags have that word; else why they cannot be read. */
static const char *look_for_flag(const char *flag, bool *found)
{
    char flags[8192], *rest = NULL;
    const char *reason = from_cpuinfo("flags", flags, sizeof flags);
    *found = false;
    if (reason)
        return reason;
    for (char *word = strtok_r(flags, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        *found |= strcmp(word, flag) == 0;
    return NULL;
}

const char *topology_virtual_machine(char text[TOPOLOGY_TEXT_MAX])
{
    bool found;
    const char *reason = look_for_flag("hypervisor", &found);
    if (!reason)
        snprintf(text, TOPOLOGY_TEXT_MAX, "%s", found ? "yes" : "no");
    return reason;
}

bool topology_has_flag(const char *flag)
{
    bool found;
    look_for_flag(flag, &found);
    return found;
}

int topology_cpus(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return CPU_COUNT(&set);
}
