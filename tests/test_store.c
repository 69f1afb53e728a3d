/* Every store on every target: right answers, a full pool, restart, many workers.
 *
 * Written once over the registry; the parameter of each test is a store and the copy that runs it.
 * All run on an emulated machine's memory, so a table can change from copy to copy.
 */
#include <criterion/parameterized.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"
#include "tests/regions.h"

#ifndef OPERATIONS
#define OPERATIONS 60000
#endif

struct subject {
    int store, target;
};

struct table {
    struct backend *machine;
    const struct store_ops *ops;
    int target;
    struct pool pool;
    struct store *s;
};

static struct criterion_test_params every_store_and_target(void)
{
    static struct subject subjects[16 * REGISTRY_TARGETS];
    size_t count = 0;
    for (int store = 0; store < registry_count(); store++)
        for (int target = 0; target < REGISTRY_TARGETS; target++)
            subjects[count++] = (struct subject){store, target};
    return cr_make_param_array(struct subject, subjects, count);
}

#define STORE_TEST(name)                                                                           \
    ParameterizedTestParameters(store, name) { return every_store_and_target(); }                  \
    ParameterizedTest(struct subject *subject, store, name)

/* ---- a table, made and found again ------------------------------------------------------------------ */

/* t stays where it is: the store keeps the pool's address. */
static void make(struct table *t, const struct subject *subject, uint64_t mib, bool fixed,
                 uint64_t records)
{
    *t = (struct table){.machine = regions_open(mib, 8), .target = subject->target};
    struct store_config config = {.fixed = fixed, .records_hint = records};
    char why[POOL_WHY_MAX] = "";
    t->ops = registry_store(subject->store, subject->target);
    for (int i = 0; t->ops->parameters[i].name; i++)
        config.parameters[i] = t->ops->parameters[i].value;
    const int error = registry_pool(t->target)->create(&t->pool, backend_pool(t->machine),
                                                      backend_volatile(t->machine), why);
    cr_assert_eq(error, 0, "%s", why);
    cr_assert_eq(t->ops->create(&t->s, &t->pool, &config), 0, "%s", t->ops->name);
}

static void check(struct table *t)
{
    char why[256] = "";
    if (t->ops->audit)
        cr_assert_eq(t->ops->audit(t->s, why, sizeof why), 0, "%s: %s", t->ops->name, why);
}

static void stop(struct table *t)
{
    check(t);
    t->ops->close(t->s);
    registry_pool(t->target)->close(&t->pool);
    backend_close(t->machine);
}

/* Closes, forgets all volatile memory, and goes on in another copy; how many records open found. */
static uint64_t restart(struct table *t, const struct subject *subject, int target)
{
    struct store_recovery found = {.records = UINT64_MAX};
    char why[POOL_WHY_MAX] = "";
    check(t);
    t->ops->close(t->s);
    registry_pool(t->target)->close(&t->pool);
    regions_wipe(t->machine);
    t->target = target;
    t->ops = registry_store(subject->store, target);
    const int error = registry_pool(target)->open(&t->pool, backend_pool(t->machine),
                                                  backend_volatile(t->machine), why);
    cr_assert_eq(error, 0, "%s", why);
    cr_assert_eq(t->ops->open(&t->s, &t->pool, &found), 0, "%s", t->ops->name);
    check(t);
    return found.records;
}

static uint64_t count(struct table *t)
{
    uint64_t records = 0;
    cr_assert_eq(t->ops->iterate(t->s, store_count, &records), 0);
    return records;
}

/* Keys by number: 0, ~0, then scattered ones. One-to-one. */
static uint64_t key_of(uint64_t number)
{
    return number == 0 ? 0 : number == 1 ? UINT64_MAX : number * UINT64_C(0x9e3779b97f4a7c15);
}

static void expect(struct table *t, uint64_t key, uint64_t value)
{
    uint64_t found = ~value;
    cr_assert_eq(t->ops->get(t->s, key, &found), 0, "%s: key %#lx", t->ops->name, key);
    cr_assert_eq(found, value, "%s: key %#lx", t->ops->name, key);
}

/* ---- fixed records ------------------------------------------------------------------------------------ */

STORE_TEST(every_word_is_a_legal_key_and_value)
{
    struct table t;
    make(&t, subject, 8, true, 1000);
    static const uint64_t words[] = {0, UINT64_MAX, 1, UINT64_C(1) << 63, UINT64_C(1) << 32};
    enum { WORDS = sizeof words / sizeof words[0] };
    uint64_t value;
    for (int i = 0; i < WORDS; i++)
        cr_assert_eq(t.ops->get(t.s, words[i], &value), -ENOENT);
    for (int i = 0; i < WORDS; i++)
        cr_assert_eq(t.ops->insert(t.s, words[i], words[WORDS - 1 - i]), 0);
    for (int i = 0; i < WORDS; i++)
        expect(&t, words[i], words[WORDS - 1 - i]);
    cr_assert_eq(count(&t), WORDS);
    stop(&t);
}

STORE_TEST(answers_are_the_interfaces)
{
    struct table t;
    make(&t, subject, 8, true, 1000);
    uint64_t value = 77;
    cr_assert_eq(t.ops->update(t.s, 5, 1), -ENOENT);
    cr_assert_eq(t.ops->remove(t.s, 5), -ENOENT);
    cr_assert_eq(t.ops->get(t.s, 5, &value), -ENOENT);
    cr_assert_eq(value, 77, "a miss leaves the value alone");
    cr_assert_eq(t.ops->insert(t.s, 5, 1), 0);
    cr_assert_eq(t.ops->insert(t.s, 5, 2), -EEXIST);
    expect(&t, 5, 1);
    cr_assert_eq(t.ops->update(t.s, 5, 3), 0);
    expect(&t, 5, 3);
    if (t.ops->upsert) {
        cr_assert_eq(t.ops->upsert(t.s, 5, 4), 0);
        cr_assert_eq(t.ops->upsert(t.s, 6, 5), 0);
        expect(&t, 5, 4);
        expect(&t, 6, 5);
        cr_assert_eq(t.ops->remove(t.s, 6), 0);
    }
    cr_assert_eq(t.ops->remove(t.s, 5), 0);
    cr_assert_eq(t.ops->remove(t.s, 5), -ENOENT);
    cr_assert_eq(t.ops->get(t.s, 5, &value), -ENOENT);
    cr_assert_eq(t.ops->insert(t.s, 5, 6), 0, "a removed key can come back");
    expect(&t, 5, 6);
    stop(&t);
}

/* What the table must say: by key's number. */
struct reference {
    uint64_t numbers, live;
    bool *present;
    uint64_t *value;
};

static struct reference reference_of(uint64_t numbers)
{
    struct reference r = {.numbers = numbers,
                          .present = calloc(numbers, sizeof(bool)),
                          .value = calloc(numbers, sizeof(uint64_t))};
    cr_assert(r.present && r.value);
    return r;
}

static void one_operation(struct table *t, struct reference *r, uint64_t *seed)
{
    const uint64_t dice = random_next(seed), value = random_next(seed);
    const uint64_t number = (dice >> 8) % r->numbers, key = key_of(number);
    const bool there = r->present[number];
    uint64_t found = 0;
    int error, expected = there ? 0 : -ENOENT;
    switch (dice % 8) {
    case 0:
    case 1:
    case 2:
        expected = there ? -EEXIST : 0;
        error = t->ops->insert(t->s, key, value);
        break;
    case 3:
        error = t->ops->update(t->s, key, value);
        break;
    case 4:
    case 5:
        error = t->ops->remove(t->s, key);
        break;
    default:
        error = t->ops->get(t->s, key, &found);
        cr_assert(error || found == r->value[number], "key %lu", number);
    }
    cr_assert_eq(error, expected, "%s, operation %d on key %lu: %d", t->ops->name, (int)(dice % 8),
                 number, error);
    if (error || dice % 8 >= 6)
        return;
    r->present[number] = dice % 8 < 4;
    r->value[number] = value;
    r->live += dice % 8 <= 2 ? 1 : dice % 8 == 3 ? 0 : UINT64_MAX;
}

static void expect_all(struct table *t, const struct reference *r)
{
    for (uint64_t number = 0; number < r->numbers; number++) {
        uint64_t found;
        const int error = t->ops->get(t->s, key_of(number), &found);
        cr_assert_eq(error, r->present[number] ? 0 : -ENOENT, "key %lu", number);
        cr_assert(error || found == r->value[number], "key %lu", number);
    }
    cr_assert_eq(count(t), r->live);
}

STORE_TEST(mixed_operations_equal_a_reference_map)
{
    const uint64_t numbers = OPERATIONS / 4;
    struct table t;
    make(&t, subject, 32 + numbers / 8192, true, numbers);
    struct reference r = reference_of(numbers);
    uint64_t seed = 2;
    for (int i = 0; i < OPERATIONS; i++)
        one_operation(&t, &r, &seed);
    expect_all(&t, &r);
    free(r.present);
    free(r.value);
    stop(&t);
}

STORE_TEST(a_full_pool_refuses_and_every_earlier_key_stays)
{
    struct table t;
    make(&t, subject, 4, true, 1000);
    uint64_t records = 0;
    int error = 0;
    while ((error = t.ops->insert(t.s, key_of(records), records)) == 0)
        records++;
    cr_assert_eq(error, -ENOSPC);
    cr_assert_gt(records, 1000);
    cr_assert_eq(t.ops->insert(t.s, key_of(records), 1), -ENOSPC);
    for (uint64_t i = 0; i < records; i++)
        expect(&t, key_of(i), i);
    cr_assert_eq(t.ops->insert(t.s, key_of(7), 1), -EEXIST);
    cr_assert_eq(t.ops->update(t.s, key_of(7), 8), 0, "an update needs no room");
    expect(&t, key_of(7), 8);
    cr_assert_eq(count(&t), records);
    cr_assert_eq(restart(&t, subject, subject->target), records);
    stop(&t);
}

STORE_TEST(another_copy_finds_it_all_after_a_restart)
{
    enum { RECORDS = 5000 };
    struct table t;
    make(&t, subject, 8, true, RECORDS);
    for (uint64_t i = 0; i < RECORDS; i++)
        cr_assert_eq(t.ops->insert(t.s, key_of(i), i), 0);
    for (uint64_t i = 0; i < RECORDS; i += 5)
        cr_assert_eq(t.ops->remove(t.s, key_of(i)), 0);
    for (int target = 0; target < REGISTRY_TARGETS; target++) {
        cr_assert_eq(restart(&t, subject, target), RECORDS / 5 * 4);
        for (uint64_t i = 0; i < RECORDS; i++) {
            uint64_t found = 0;
            const int error = t.ops->get(t.s, key_of(i), &found);
            cr_assert_eq(error, i % 5 ? 0 : -ENOENT, "key %lu", i);
            cr_assert(error || found == i);
        }
        const uint64_t more = RECORDS + (uint64_t)target; /* and goes on working */
        cr_assert_eq(t.ops->insert(t.s, key_of(more), more), 0);
        cr_assert_eq(t.ops->remove(t.s, key_of(more)), 0);
    }
    stop(&t);
}

STORE_TEST(an_open_table_goes_on_in_another_copy)
{
    enum { RECORDS = 3000 };
    struct table t;
    make(&t, subject, 8, true, RECORDS);
    for (uint64_t i = 0; i < RECORDS; i++) {
        t.ops = registry_store(subject->store, (int)(i % REGISTRY_TARGETS));
        cr_assert_eq(t.ops->insert(t.s, key_of(i), i), 0);
    }
    t.ops = registry_store(subject->store, subject->target);
    for (uint64_t i = 0; i < RECORDS; i++)
        expect(&t, key_of(i), i);
    stop(&t);
}

STORE_TEST(another_owners_pool_is_refused)
{
    struct table t;
    make(&t, subject, 8, true, 100);
    const int other = (subject->store + 1) % registry_count();
    struct store *s = NULL;
    struct store_recovery found;
    t.ops->close(t.s);
    if (other != subject->store)
        cr_assert_eq(registry_store(other, t.target)->open(&s, &t.pool, &found), -EINVAL);
    registry_pool(t.target)->close(&t.pool);
    regions_wipe(t.machine);
    char why[POOL_WHY_MAX] = "";
    cr_assert_eq(registry_pool(t.target)->create(&t.pool, backend_pool(t.machine),
                                                 backend_volatile(t.machine), why), 0);
    memset(backend_pool(t.machine)->base + 128, 0, 64); /* nobody's */
    cr_assert_eq(t.ops->open(&s, &t.pool, &found), -EINVAL);
    backend_close(t.machine);
}

struct visits {
    uint64_t seen[1000], calls, stop_after;
};

static int note_visit(void *arg, struct bytes key, struct bytes value)
{
    struct visits *v = arg;
    uint64_t k, x;
    cr_assert_eq(key.size, 8);
    cr_assert_eq(value.size, 8);
    memcpy(&k, key.data, 8);
    memcpy(&x, value.data, 8);
    cr_assert_lt(x, 1000);
    cr_assert_eq(k, key_of(x));
    v->seen[x]++;
    return ++v->calls == v->stop_after ? 42 : 0;
}

STORE_TEST(iteration_visits_every_record_once_and_can_be_stopped)
{
    struct table t;
    make(&t, subject, 8, true, 1000);
    struct visits all = {0}, some = {.stop_after = 10};
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(t.ops->insert(t.s, key_of(i), i), 0);
    cr_assert_eq(t.ops->remove(t.s, key_of(500)), 0);
    cr_assert_eq(t.ops->iterate(t.s, note_visit, &all), 0);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(all.seen[i], i != 500, "record %d", i);
    cr_assert_eq(t.ops->iterate(t.s, note_visit, &some), 42);
    cr_assert_eq(some.calls, 10);
    stop(&t);
}

STORE_TEST(the_room_it_asks_for_is_enough)
{
    enum { RECORDS = 40000 };
    const struct store_ops *ops = registry_store(subject->store, subject->target);
    struct store_config config = {.fixed = true, .records_hint = RECORDS};
    for (int i = 0; ops->parameters[i].name; i++)
        config.parameters[i] = ops->parameters[i].value;
    const uint64_t bytes = ops->pool_bytes(&config, RECORDS, 8, 8);
    struct table t;
    make(&t, subject, (bytes >> 20) + 1, true, RECORDS);
    struct store_stats stats;
    for (uint64_t i = 0; i < RECORDS; i++)
        cr_assert_eq(t.ops->insert(t.s, key_of(i), i), 0, "record %lu", i);
    t.ops->stats(t.s, &stats);
    cr_assert_geq(stats.slots, RECORDS);
    stop(&t);
}

/* ---- many workers -------------------------------------------------------------------------------------- */

enum { WORKERS = 8, OWN = 600, TURNS = 4000, COMMON = 64 };

struct crew {
    struct table *t;
    const char *fault[WORKERS]; /* what went wrong, or NULL */
    struct {
        bool present[OWN];
        uint64_t value[OWN];
    } own[WORKERS];
};

/* Keys of one's own, whose state nobody else changes; and common ones, whose values say their key. */
static void work(void *arg, int self)
{
    struct crew *c = arg;
    const struct store_ops *ops = c->t->ops;
    uint64_t seed = 100 + (uint64_t)self;
    for (int turn = 0; turn < TURNS && !c->fault[self]; turn++) {
        const uint64_t dice = random_next(&seed), value = random_next(&seed);
        uint64_t found = 0;
        if (dice % 4 == 0) {
            const uint64_t number = (dice >> 8) % COMMON;
            const uint64_t mine = number << 32 | (value & UINT32_MAX);
            int error = dice >> 40 & 1 ? ops->update(c->t->s, key_of(number), mine)
                                       : ops->insert(c->t->s, key_of(number), mine);
            if (error == -EEXIST && dice >> 41 & 1)
                error = ops->remove(c->t->s, key_of(number));
            if (error && error != -EEXIST && error != -ENOENT)
                c->fault[self] = "a change failed";
            if (ops->get(c->t->s, key_of(number), &found) == 0 && found >> 32 != number)
                c->fault[self] = "a common key has a value that nobody wrote";
            continue;
        }
        const uint64_t i = (dice >> 8) % OWN;
        const uint64_t key = key_of(COMMON + i * WORKERS + (uint64_t)self);
        const bool there = c->own[self].present[i];
        int error = ops->get(c->t->s, key, &found);
        if (error != (there ? 0 : -ENOENT) || (there && found != c->own[self].value[i]))
            c->fault[self] = "get does not return what was acknowledged";
        error = !there ? ops->insert(c->t->s, key, value)
                : dice >> 40 & 1 ? ops->update(c->t->s, key, value)
                                 : ops->remove(c->t->s, key);
        if (error)
            c->fault[self] = "a change of an own key failed";
        c->own[self].present[i] = !there || (dice >> 40 & 1);
        c->own[self].value[i] = value;
    }
}

STORE_TEST(workers_find_every_acknowledged_operation_and_nothing_else)
{
    struct table t;
    make(&t, subject, 16, true, COMMON + OWN * WORKERS);
    struct crew *c = calloc(1, sizeof *c);
    cr_assert_not_null(c);
    c->t = &t;
    regions_run(t.machine, (enum target)t.target, WORKERS, work, c);
    for (int w = 0; w < WORKERS; w++)
        cr_assert_null(c->fault[w], "%s, worker %d: %s", t.ops->name, w, c->fault[w]);

    uint64_t live = 0;
    for (int w = 0; w < WORKERS; w++)
        for (uint64_t i = 0; i < OWN; i++) {
            const uint64_t key = key_of(COMMON + i * WORKERS + (uint64_t)w);
            uint64_t found = 0;
            const int error = t.ops->get(t.s, key, &found);
            cr_assert_eq(error, c->own[w].present[i] ? 0 : -ENOENT);
            cr_assert(error || found == c->own[w].value[i]);
            live += !error;
        }
    for (uint64_t number = 0; number < COMMON; number++) {
        uint64_t found;
        live += t.ops->get(t.s, key_of(number), &found) == 0;
    }
    cr_assert_eq(count(&t), live);
    cr_assert_eq(restart(&t, subject, t.target), live);
    free(c);
    stop(&t);
}

/* ---- variable records ---------------------------------------------------------------------------------- */

/* Key `number` of 1 .. 65536 bytes: its number first, then bytes that depend on it; NULs too. */
static struct bytes long_bytes(char *buffer, uint64_t number, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        buffer[i] = (char)(i < 8 ? number >> 8 * (i % 8) : number + i);
    return (struct bytes){buffer, size};
}

static void expect_bytes(struct table *t, struct bytes key, struct bytes value)
{
    static char found[STORE_BYTES_MAX];
    uint32_t size = 0;
    cr_assert_eq(t->ops->get_bytes(t->s, key, found, sizeof found, &size), 0);
    cr_assert_eq(size, value.size);
    cr_assert_eq(memcmp(found, value.data, size), 0);
}

static char key_buffer[STORE_BYTES_MAX], value_buffer[STORE_BYTES_MAX];

STORE_TEST(keys_and_values_of_every_length_come_back)
{
    static const uint32_t sizes[] = {1, 7, 8, 9, 63, 64, 65, 255, 4096, 40000, STORE_BYTES_MAX};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    if (!registry_store(subject->store, subject->target)->variable)
        return;
    struct table t;
    make(&t, subject, 32, false, 1000);
    for (int round = 0; round < 2; round++) {
        for (uint64_t k = 0; k < SIZES; k++)
            for (uint64_t v = 0; v < SIZES; v++) {
                if (sizes[k] == 1 && v)
                    continue;
                const struct bytes key = long_bytes(key_buffer, k << 8 | (v + 1), sizes[k]);
                const struct bytes value = long_bytes(value_buffer, k * 100 + v, sizes[v]);
                if (round == 0)
                    cr_assert_eq(t.ops->insert_bytes(t.s, key, value), 0);
                expect_bytes(&t, key, value);
            }
        restart(&t, subject, t.target);
    }
    const struct bytes none = {key_buffer, 0}, over = {key_buffer, STORE_BYTES_MAX + 1};
    const struct bytes fine = {value_buffer, 1};
    cr_assert_eq(t.ops->insert_bytes(t.s, none, fine), -EINVAL);
    cr_assert_eq(t.ops->insert_bytes(t.s, over, fine), -EINVAL);
    cr_assert_eq(t.ops->insert_bytes(t.s, fine, over), -EINVAL);
    stop(&t);
}

STORE_TEST(keys_that_are_prefixes_of_each_other_are_different_keys)
{
    if (!registry_store(subject->store, subject->target)->variable)
        return;
    struct table t;
    make(&t, subject, 8, false, 1000);
    memset(key_buffer, 0, 300); /* NUL bytes are bytes */
    for (uint32_t size = 1; size <= 300; size++)
        cr_assert_eq(t.ops->insert_bytes(t.s, (struct bytes){key_buffer, size},
                                         (struct bytes){&size, sizeof size}), 0);
    for (uint32_t size = 1; size <= 300; size++)
        expect_bytes(&t, (struct bytes){key_buffer, size}, (struct bytes){&size, sizeof size});
    cr_assert_eq(count(&t), 300);
    stop(&t);
}

STORE_TEST(mixed_operations_on_variable_records_equal_a_reference_map)
{
    enum { NUMBERS = 400, TRIES = OPERATIONS / 10 };
    if (!registry_store(subject->store, subject->target)->variable)
        return;
    struct table t;
    make(&t, subject, 16, false, NUMBERS);
    struct reference r = reference_of(NUMBERS);
    uint64_t seed = 3;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t dice = random_next(&seed), number = (dice >> 8) % NUMBERS;
        const uint32_t size = (uint32_t)(dice >> 32) % 2000 + 1;
        const struct bytes key = long_bytes(key_buffer, number + 256, (uint32_t)(number % 90) + 8);
        const struct bytes value = long_bytes(value_buffer, dice, size);
        const bool there = r.present[number];
        if (dice % 3 == 0) {
            cr_assert_eq(t.ops->remove_bytes(t.s, key), there ? 0 : -ENOENT);
            r.present[number] = false;
        } else if (dice % 3 == 1) {
            cr_assert_eq(t.ops->insert_bytes(t.s, key, value), there ? -EEXIST : 0);
            r.value[number] = there ? r.value[number] : dice;
            r.present[number] = true;
        } else {
            cr_assert_eq(t.ops->update_bytes(t.s, key, value), there ? 0 : -ENOENT);
            r.value[number] = there ? dice : 0;
        }
    }
    for (int round = 0; round < 2; round++) {
        for (uint64_t number = 0; number < NUMBERS; number++) {
            const struct bytes key =
                long_bytes(key_buffer, number + 256, (uint32_t)(number % 90) + 8);
            const uint32_t size = (uint32_t)(r.value[number] >> 32) % 2000 + 1;
            uint32_t found;
            if (r.present[number])
                expect_bytes(&t, key, long_bytes(value_buffer, r.value[number], size));
            else
                cr_assert_eq(t.ops->get_bytes(t.s, key, value_buffer, 8, &found), -ENOENT);
        }
        restart(&t, subject, t.target);
    }
    free(r.present);
    free(r.value);
    stop(&t);
}

STORE_TEST(removing_large_values_makes_room_for_others)
{
    if (!registry_store(subject->store, subject->target)->variable)
        return;
    struct table t;
    make(&t, subject, 4, false, 100);
    int first = 0;
    for (int round = 0; round < 3; round++) {
        int stored = 0;
        for (;; stored++) {
            const struct bytes key = long_bytes(key_buffer, (uint64_t)stored, 8);
            const int error = t.ops->insert_bytes(t.s, key, (struct bytes){value_buffer, 60000});
            if (error) {
                cr_assert_eq(error, -ENOSPC);
                break;
            }
        }
        first = round ? first : stored;
        cr_assert_gt(stored, 10);
        cr_assert_eq(stored, first, "round %d", round);
        for (int i = 0; i < stored; i++)
            cr_assert_eq(t.ops->remove_bytes(t.s, long_bytes(key_buffer, (uint64_t)i, 8)), 0);
    }
    cr_assert_eq(count(&t), 0);
    stop(&t);
}
