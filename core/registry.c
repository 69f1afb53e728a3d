/* registry.c -- see registry.h. */
#include "core/registry.h"

#include <string.h>

/* Sorted by name. A new store is one word here and its files in core/CMakeLists.txt. */
#define STORES(X) X(esh) X(linear)

#define DECLARE(name) extern const struct store_ops name##_native, name##_counted, name##_emul;
STORES(DECLARE)

#define ROW(name) {&name##_native, &name##_counted, &name##_emul},
static const struct store_ops *const stores[][REGISTRY_TARGETS] = {STORES(ROW)};

int registry_count(void)
{
    return (int)(sizeof stores / sizeof stores[0]);
}

const struct store_ops *registry_store(int index, int target)
{
    return stores[index][target];
}

const struct store_ops *registry_find(const char *name, int target)
{
    for (int i = 0; i < registry_count(); i++)
        if (strcmp(stores[i][target]->name, name) == 0)
            return stores[i][target];
    return NULL;
}

extern const struct pool_ops pool_native, pool_counted, pool_emul;

const struct pool_ops *registry_pool(int target)
{
    static const struct pool_ops *const pools[REGISTRY_TARGETS] = {&pool_native, &pool_counted,
                                                                    &pool_emul};
    return pools[target];
}
