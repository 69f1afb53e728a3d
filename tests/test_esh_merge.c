/* test_esh_merge.c -- ESH gives space back: empty segments merge, spare ones are used again, and a
 * merge that the power cuts off is finished or never happened.
 */
#include "tests/esh_table.h"

static void remove_range(struct table *t, uint64_t from, uint64_t to)
{
    for (uint64_t key = from; key < to; key++)
        cr_assert_eq(ops->remove(t->s, key), 0, "key %lu", (unsigned long)key);
}

Test(esh_merge, an_emptied_table_is_one_segment_and_fills_again_from_its_spares)
{
    struct table t = make(4, true);
    uint64_t full = 0, now = 0;
    start(&t);
    insert_range(&t, 0, 20000);
    const uint64_t segments = pm_look(&t.s->directory->segments);
    pool_used(&t.pool, &full);

    remove_range(&t, 0, 20000);
    cr_assert_eq(pm_look(&t.s->directory->segments), 1);
    cr_assert_eq(pm_look(&t.s->directory->spares), segments - 1);
    check(&t);
    insert_range(&t, 50000, 60000);
    pool_used(&t.pool, &now);
    cr_assert_eq(now, full, "spare segments come first");
    expect_range(&t, 50000, 60000);
    check(&t);

    const struct store_recovery found = restart(&t);
    cr_assert_eq(found.records, 10000);
    cr_assert_eq(found.discarded, 0);
    pool_used(&t.pool, &now);
    cr_assert_lt(now, full, "a restart gives spare segments back");
    check(&t);
    stop(&t);
}

Test(esh_merge, a_segment_with_a_record_or_a_deeper_partner_is_not_merged)
{
    struct table t = make(4, true);
    start(&t);
    insert_range(&t, 0, 1000);
    remove_range(&t, 1, 1000);
    expect_range(&t, 0, 1);
    cr_assert_geq(pm_look(&t.s->directory->segments), 2);
    check(&t);
    cr_assert_eq(restart(&t).records, 1);
    check(&t);
    stop(&t);
}

/* A merge that the power cut off after its first store, and after some more. */
static void cut_merge(unsigned low_done, unsigned high_done)
{
    struct table t = make(4, true);
    uint64_t key = 0;
    start(&t);
    while (pm_look(&t.s->directory->splits) == 0) {
        insert_range(&t, key, key + 1);
        key++;
    }
    struct esh_bucket *low = first_segment(&t), *high = second_segment(&t);
    for (unsigned b = 0; b < 4; b++) { /* empty, without a merge's help */
        low[b].state = esh_state(b, b < low_done ? 0 : 1, 0, 0);
        high[b].state = b < high_done ? 0 : esh_state(b, 1, 1, 0);
    }

    const struct store_recovery found = restart(&t);

    cr_assert_eq(found.segments, 1);
    cr_assert_eq(found.records, 0);
    cr_assert_eq(found.discarded, high_done ? 0 : 1);
    insert_range(&t, 0, 2000);
    expect_range(&t, 0, 2000);
    check(&t);
    cr_assert_eq(restart(&t).records, 2000);
    stop(&t);
}

Test(esh_merge, a_merge_cut_off_after_its_commit_is_finished_by_recovery)
{
    cut_merge(1, 0);
    cut_merge(2, 0);
    cut_merge(4, 0);
    cut_merge(1, 2);
    cut_merge(4, 4);
}
