/* registry.h -- every store by name, in each compiled copy. Compiled once; a new store is one line.
 */
#ifndef CORE_REGISTRY_H
#define CORE_REGISTRY_H

#include "core/store.h"

enum { REGISTRY_NATIVE, REGISTRY_COUNTED, REGISTRY_EMUL, REGISTRY_TARGETS };

/* The stores, sorted by name: registry_store(0..registry_count()-1, target). */
int registry_count(void);
const struct store_ops *registry_store(int index, int target);

/* NULL when there is no such store. */
const struct store_ops *registry_find(const char *name, int target);

/* The pool's operations of a target. */
const struct pool_ops *registry_pool(int target);

#endif
