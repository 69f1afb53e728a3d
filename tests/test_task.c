/* Tasks and waiting. Built twice: on simulated threads, and on real ones. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "backends/backend.h"
#include "backends/pm.h"
#include "backends/task.h"

enum { MIB = 1 << 20, TASKS = 8 };

static bool emulated(void)
{
    return strcmp(PM_STR_(PM_TARGET), "emul") == 0;
}

/* A run of one worker, which starts the tasks. */
static void run(void (*worker)(void *arg, int self), struct backend **b)
{
    const struct backend_options options = {.pool_bytes = 4 * MIB,
                                            .volatile_bytes = 4 * MIB,
                                            .threads = 1,
                                            .node = -1,
                                            .memory_node = -1,
                                            .seed = 1};
    char why[BACKEND_WHY_MAX] = "";
    int error = backend_open(b, emulated() ? "emul:optane-100" : "dram", &options, why);
    cr_assert_eq(error, 0, "%s", why);
    error = backend_run(*b, emulated() ? TARGET_EMUL : TARGET_NATIVE, 1, worker, *b, why);
    cr_assert_eq(error, 0, "%s", why);
    backend_close(*b);
}

static uint32_t PM *word_at(struct backend *b, uint64_t offset)
{
    return pm_at(backend_volatile(b), offset);
}

/* Shared with the tasks of a test. */
static struct backend *backend;
static int selves[TASKS];

static void tick(void *arg)
{
    int *self = arg;
    *self = pm_self();
    uint32_t PM *counter = word_at(backend, 64);
    for (int i = 0; i < 1000; i++)
        pm_fetch_add(counter, 1);
}

static void start_and_join(void *arg, int self)
{
    struct task *tasks[TASKS];
    (void)arg;
    for (int i = 0; i < TASKS; i++)
        cr_assert_eq(task_start(&tasks[i], tick, &selves[i], TASK_OWN_CORE), 0);
    for (int i = 0; i < TASKS; i++)
        task_join(tasks[i]);
    uint32_t PM *counter = word_at(backend, 64);
    const uint32_t value = pm_load_acquire(counter);
    cr_assert_eq(value, TASKS * 1000);
    for (int i = 0; i < TASKS; i++) {
        cr_assert_neq(selves[i], self);
        for (int j = 0; j < i; j++)
            cr_assert_neq(selves[i], selves[j]);
    }
}

Test(task, tasks_run_and_have_numbers_of_their_own)
{
    run(start_and_join, &backend);
}

static void start_and_join_often(void *arg, int self)
{
    (void)arg, (void)self;
    for (int i = 0; i < 1500; i++) { /* more than there are numbers */
        struct task *t;
        cr_assert_eq(task_start(&t, tick, &selves[0], TASK_OWN_CORE), 0);
        task_join(t);
    }
}

Test(task, numbers_are_used_again)
{
    run(start_and_join_often, &backend);
}

static void wait_in_turn(void *arg)
{
    const uint32_t me = (uint32_t)(uintptr_t)arg;
    uint32_t PM *turn = word_at(backend, 128);
    for (;;) {
        const uint32_t now = pm_load_acquire(turn);
        if (now % TASKS == me || now >= TASKS * 50) {
            if (now < TASKS * 50)
                pm_store_release(turn, now + 1);
            task_wake(turn, TASKS);
            if (now + TASKS >= TASKS * 50)
                return;
        } else {
            task_wait(turn, now, TASK_FOREVER);
        }
    }
}

static void pass_the_turn(void *arg, int self)
{
    struct task *tasks[TASKS];
    (void)arg, (void)self;
    for (uintptr_t i = 0; i < TASKS; i++)
        cr_assert_eq(task_start(&tasks[i], wait_in_turn, (void *)i, TASK_OWN_CORE), 0);
    for (int i = 0; i < TASKS; i++)
        task_join(tasks[i]);
    uint32_t PM *turn = word_at(backend, 128);
    const uint32_t now = pm_load_acquire(turn);
    cr_assert_eq(now, TASKS * 50);
}

Test(task, sleepers_are_woken)
{
    run(pass_the_turn, &backend);
}

static void time_out(void *arg, int self)
{
    uint32_t PM *word = word_at(arg, 192);
    (void)self;
    const uint64_t before = task_now();
    cr_assert_eq(task_wait(word, 0, 3000000), -ETIMEDOUT);
    const uint64_t slept = task_now() - before;
    cr_assert(slept >= 3000000, "%lu ns", (unsigned long)slept);
    cr_assert_eq(task_wait(word, 1, TASK_FOREVER), -EAGAIN);
    cr_assert_eq(task_wake(word, 5), 0);
}

Test(task, a_wait_ends_at_its_limit_or_at_once)
{
    run(time_out, &backend);
}

/* Two who share a core and only compute: both get on, though one has the smaller number. */
static void share_core(void *arg, int self)
{
    struct task *tasks[2];
    (void)arg, (void)self;
    for (int i = 0; i < 2; i++)
        cr_assert_eq(task_start(&tasks[i], tick, &selves[i], 0), 0);
    uint32_t PM *counter = word_at(backend, 64);
    for (;;) {
        const uint32_t value = pm_load_acquire(counter);
        if (value == 2000)
            break;
        pm_pause();
    }
    for (int i = 0; i < 2; i++)
        task_join(tasks[i]);
}

Test(task, workers_can_share_a_core)
{
    run(share_core, &backend);
}
