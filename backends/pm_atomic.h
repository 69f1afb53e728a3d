/* pm_atomic.h -- the accesses themselves, shared by all three forms of the door.
 *
 * The only place that looks through the PM mark; pm_look() is the same in all three. Addresses are evaluated once. The emulated door
 * makes the same accesses after its event, so both copies store the same bytes.
 */
#ifndef BACKENDS_PM_ATOMIC_H
#define BACKENDS_PM_ATOMIC_H

#define PM_LOAD_PLAIN_(p)                                                                          \
    __extension__({                                                                                \
        PM_OPEN_ __typeof__(*(p)) value_ = *(p);                                                   \
        PM_SHUT_ value_;                                                                           \
    })

#define PM_LOAD_(p, order)                                                                         \
    __extension__({                                                                                \
        PM_OPEN_ __typeof__(*(p)) value_ = __atomic_load_n((p), (order));                          \
        PM_SHUT_ value_;                                                                           \
    })

#define pm_look(p) PM_LOAD_((p), __ATOMIC_RELAXED)

#define PM_STORE_PLAIN_(p, v)                                                                      \
    __extension__({                                                                                \
        PM_OPEN_ *(p) = (v);                                                                       \
        PM_SHUT_(void) 0;                                                                          \
    })

#define PM_STORE_(p, v, order)                                                                     \
    __extension__({                                                                                \
        PM_OPEN_ __atomic_store_n((p), (v), (order));                                              \
        PM_SHUT_(void) 0;                                                                          \
    })

#define PM_CAS_(p, old, new)                                                                       \
    __extension__({                                                                                \
        PM_OPEN_ bool swapped_ = __atomic_compare_exchange_n(                                      \
            (p), (old), (new), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                         \
        PM_SHUT_ swapped_;                                                                         \
    })

#define PM_FETCH_ADD_(p, n)                                                                        \
    __extension__({                                                                                \
        PM_OPEN_ __typeof__(*(p)) before_ = __atomic_fetch_add((p), (n), __ATOMIC_ACQ_REL);        \
        PM_SHUT_ before_;                                                                          \
    })

#endif
