/* libpmem.c -- stands in for libpmem where there is no build of it for another processor: nothing can
 * be mapped, and so nothing else is called.
 */
#include <errno.h>
#include <libpmem.h>
#include <stdlib.h>

void *pmem_map_file(const char *path, size_t len, int flags, mode_t mode, size_t *mapped_lenp,
                    int *is_pmemp)
{
    (void)path, (void)len, (void)flags, (void)mode, (void)mapped_lenp, (void)is_pmemp;
    errno = ENOTSUP;
    return NULL;
}

const char *pmem_errormsg(void)
{
    return "no libpmem here";
}

int pmem_has_auto_flush(void)
{
    return -1;
}

int pmem_unmap(void *addr, size_t len)
{
    (void)addr, (void)len;
    abort();
}

void *pmem_memset_persist(void *pmemdest, int c, size_t len)
{
    (void)pmemdest, (void)c, (void)len;
    abort();
}
