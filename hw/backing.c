/* backing.c -- see backing.h. */
#include "hw/backing.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hw/topology.h"

static const struct {
    long magic;
    const char *name;
} file_systems[] = {
    {TMPFS_MAGIC, "tmpfs"},         {EXT4_SUPER_MAGIC, "ext4"},  {XFS_SUPER_MAGIC, "xfs"},
    {BTRFS_SUPER_MAGIC, "btrfs"},   {OVERLAYFS_SUPER_MAGIC, "overlayfs"},
    {HUGETLBFS_MAGIC, "hugetlbfs"}, {NFS_SUPER_MAGIC, "nfs"},    {RAMFS_MAGIC, "ramfs"},
};

const char *backing_kind(const char *path, bool dax, char text[BACKING_TEXT_MAX])
{
    struct stat st;
    struct statfs fs;
    const char *name = NULL;

    if (!path) {
        snprintf(text, BACKING_TEXT_MAX, "anonymous memory");
        return NULL;
    }
    if (stat(path, &st) == 0 && S_ISCHR(st.st_mode)) {
        snprintf(text, BACKING_TEXT_MAX, "devdax");
        return NULL;
    }
    if (statfs(path, &fs) != 0)
        return "statfs failed";
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++)
        if (file_systems[i].magic == (long)fs.f_type)
            name = file_systems[i].name;
    if (name)
        snprintf(text, BACKING_TEXT_MAX, "%s%s", name, dax ? ", fsdax" : "");
    else
        snprintf(text, BACKING_TEXT_MAX, "file system 0x%lx%s", (unsigned long)fs.f_type,
                 dax ? ", fsdax" : "");
    return NULL;
}

static bool set_to_one(const char *variable)
{
    const char *value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

const char *backing_flush(char text[BACKING_TEXT_MAX])
{
    const char *word = "clflush";
#if defined __x86_64__
    if (topology_has_flag("clflushopt") && !set_to_one("PMEM_NO_CLFLUSHOPT"))
        word = "clflushopt";
    if (topology_has_flag("clwb") && !set_to_one("PMEM_NO_CLWB"))
        word = "clwb";
#elif defined __aarch64__
    word = "dc cvac";
#else
    return "libpmem's choice on this processor is not known here";
#endif
    if (set_to_one("PMEM_NO_FLUSH"))
        word = "none (PMEM_NO_FLUSH)";
    snprintf(text, BACKING_TEXT_MAX, "%s", word);
    return NULL;
}

const char *backing_node(const void *base, char text[BACKING_TEXT_MAX])
{
    int node = -1;
    if (syscall(SYS_get_mempolicy, &node, NULL, 0, base, MPOL_F_NODE | MPOL_F_ADDR) != 0)
        return "this kernel does not say on which node a page lies";
    snprintf(text, BACKING_TEXT_MAX, "%d", node);
    return NULL;
}

/* The kB of a line of smaps that counts bytes under huge pages. */
static uint64_t huge_kib(const char *line)
{
    static const char *const keys[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:",
                                       "Shared_Hugetlb:", "Private_Hugetlb:"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return strtoull(line + strlen(keys[i]), NULL, 10);
    return 0;
}

const char *backing_huge(const void *base, size_t size, char text[BACKING_TEXT_MAX])
{
    const uintptr_t first = (uintptr_t)base, last = first + size;
    FILE *in = fopen("/proc/self/smaps", "r");
    char line[512];
    uint64_t kib = 0;
    bool inside = false;

    if (!in)
        return "/proc/self/smaps cannot be read";
    while (fgets(line, sizeof line, in)) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
            inside = from < last && to > first;
        else if (inside)
            kib += huge_kib(line);
    }
    fclose(in);
    const double share = 100.0 * (double)kib * 1024 / (double)size;
    snprintf(text, BACKING_TEXT_MAX, "%.0f %% of the pool", share < 100 ? share : 100);
    return NULL;
}

/* /sys/dev/char/MAJOR:MINOR names the device; its subsystem is the bus "dax". */
bool backing_is_dax(unsigned major, unsigned minor)
{
    char link[64], target[256];
    snprintf(link, sizeof link, "/sys/dev/char/%u:%u/subsystem", major, minor);
    const ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    return slash && strcmp(slash + 1, "dax") == 0;
}

bool backing_dax_size(unsigned major, unsigned minor, uint64_t *bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/dev/char/%u:%u/size", major, minor);
    FILE *in = fopen(path, "r");
    if (!in)
        return false;
    const bool read = fscanf(in, "%" SCNu64, bytes) == 1;
    fclose(in);
    return read;
}
