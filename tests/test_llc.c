/* test_llc.c -- the shared cache's directory: what a sharer code says, against a plain set. */
#include <criterion/criterion.h>

#include "model/llc.h"
#include "tests/random.h"

enum { CORES = 64, STEPS = 200000 };

static bool names(uint16_t code, unsigned core)
{
    if (code & SHARERS_COARSE)
        return code >> core / SHARERS_GROUP & 1;
    return (code & SHARERS_ONE) == core + 1 || (code >> SHARERS_SECOND & SHARERS_ONE) == core + 1;
}

/* Every core of the set is named; while there never were more than two, no other is. */
static void compare(uint16_t code, uint64_t set, bool exact)
{
    for (unsigned core = 0; core < CORES; core++) {
        const bool in = set >> core & 1;
        cr_assert(!in || names(code, core), "core %u is lost from code %#x", core, code);
        cr_assert(!exact || in == names(code, core), "core %u in code %#x", core, code);
        const bool alone = (set & ~(UINT64_C(1) << core)) == 0;
        cr_assert(!sharers_only(code, core) || alone, "core %u is not alone in %#x", core, code);
        cr_assert(!exact || sharers_only(code, core) == alone, "core %u, code %#x", core, code);
    }
}

Test(llc, sharer_codes_never_lose_a_core_and_are_exact_up_to_two)
{
    uint64_t random = 11, set = 0;
    uint16_t code = 0;
    unsigned coarse = 0;

    for (int step = 0; step < STEPS; step++) {
        const uint64_t draw = random_next(&random);
        const unsigned core = draw % CORES;
        if (draw >> 32 & 1) {
            code = sharers_add(code, core);
            set |= UINT64_C(1) << core;
        } else if (set >> core & 1) {
            code = sharers_remove(code, core);
            set &= ~(UINT64_C(1) << core);
        }
        compare(code, set, !(code & SHARERS_COARSE));
        if (__builtin_popcountll(set) > 2)
            cr_assert(code & SHARERS_COARSE);
        if (code & SHARERS_COARSE && ++coarse % 8 == 0)
            code = 0, set = 0; /* a writer took the line for itself and lost it */
    }
    cr_assert_gt(coarse, STEPS / 100);
}
