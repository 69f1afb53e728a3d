/* Fibers: switches, stacks and registers. Built twice: over our own switch and over ucontext. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "backends/fiber.h"

enum { FIBERS = 64, ROUNDS = 1000, DEPTH = 500 };

struct ring {
    struct fiber *main, *fibers[FIBERS];
    int order[FIBERS * ROUNDS], count;
};

struct seat {
    struct ring *ring;
    int number;
};

static struct fiber *neighbour(const struct seat *s)
{
    return s->number + 1 < FIBERS ? s->ring->fibers[s->number + 1] : s->ring->main;
}

static void pass_on(void *arg)
{
    struct seat *s = arg;
    for (;;) {
        s->ring->order[s->ring->count++] = s->number;
        fiber_switch(s->ring->fibers[s->number], neighbour(s));
    }
}

Test(fiber, a_ring_of_fibers_runs_in_order)
{
    static struct ring ring;
    struct seat seats[FIBERS];
    ring.main = fiber_adopt();
    cr_assert_not_null(ring.main);
    for (int i = 0; i < FIBERS; i++) {
        seats[i] = (struct seat){&ring, i};
        ring.fibers[i] = fiber_create(pass_on, &seats[i]);
        cr_assert_not_null(ring.fibers[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        fiber_switch(ring.main, ring.fibers[0]);
    cr_assert_eq(ring.count, FIBERS * ROUNDS);
    for (int i = 0; i < ring.count; i++)
        cr_assert_eq(ring.order[i], i % FIBERS);
    for (int i = 0; i < FIBERS; i++)
        fiber_destroy(ring.fibers[i]);
    fiber_destroy(ring.main);
}

struct pair {
    struct fiber *main, *other;
    uint64_t sum;
    double product;
};

static uint64_t descend(struct pair *p, unsigned depth)
{
    volatile char frame[200];
    memset((char *)frame, (int)(depth & 0x7f), sizeof frame);
    if (depth == 0)
        fiber_switch(p->other, p->main);
    const uint64_t below = depth ? descend(p, depth - 1) : 0;
    return below + (uint64_t)frame[depth % sizeof frame];
}

static void go_deep(void *arg)
{
    struct pair *p = arg;
    p->sum = descend(p, DEPTH);
    fiber_switch(p->other, p->main);
}

Test(fiber, a_deep_stack_is_whole_after_a_switch)
{
    struct pair p = {.main = fiber_adopt()};
    p.other = fiber_create(go_deep, &p);
    fiber_switch(p.main, p.other);
    cr_assert_eq(p.sum, 0);
    fiber_switch(p.main, p.other);
    uint64_t expected = 0;
    for (unsigned i = 0; i <= DEPTH; i++)
        expected += i & 0x7f;
    cr_assert_eq(p.sum, expected);
    fiber_destroy(p.other);
    fiber_destroy(p.main);
}

/* More values alive over the switch than a compiler has registers for without the callee's. */
static void mix(struct pair *p, struct fiber *from, struct fiber *to, uint64_t seed, int rounds)
{
    uint64_t a = seed, b = seed * 3, c = seed * 5, d = seed * 7, e = seed * 11, f = seed * 13;
    double x = (double)seed, y = 1.5, z = 0.25;
    for (int i = 0; i < rounds; i++) {
        a += b ^ c, b += c ^ d, c += d ^ e, d += e ^ f, e += f ^ a, f += a ^ b;
        x = x * 0.5 + y, y = y * 0.5 + z, z = z * 0.5 + x;
        if (from)
            fiber_switch(from, to);
    }
    p->sum = a ^ b ^ c ^ d ^ e ^ f;
    p->product = x + y + z;
}

static void mix_elsewhere(void *arg)
{
    struct pair *p = arg;
    struct pair own = {0};
    for (;;)
        mix(&own, p->other, p->main, 99, 1000);
}

Test(fiber, registers_survive_switches)
{
    struct pair alone = {0}, p = {.main = fiber_adopt()};
    p.other = fiber_create(mix_elsewhere, &p);
    mix(&alone, NULL, NULL, 12345, 1000);
    mix(&p, p.main, p.other, 12345, 1000);
    cr_assert_eq(p.sum, alone.sum);
    cr_assert_eq(p.product, alone.product);
    fiber_destroy(p.other);
    fiber_destroy(p.main);
}

static void count_stay(void *arg)
{
    struct pair *p = arg;
    p->sum++;
    fiber_switch(p->other, p->main);
}

Test(fiber, stacks_are_given_back)
{
    struct pair p = {.main = fiber_adopt()};
    for (int i = 0; i < 70000; i++) { /* more than the kernel allows mappings */
        p.other = fiber_create(count_stay, &p);
        cr_assert_not_null(p.other, "fiber %d", i);
        fiber_switch(p.main, p.other);
        fiber_destroy(p.other);
    }
    cr_assert_eq(p.sum, 70000);
    fiber_destroy(p.main);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static uint64_t overflow(unsigned depth)
{
    volatile char frame[1024];
    frame[depth % sizeof frame] = 1;
    return (depth ? overflow(depth - 1) : 0) + (uint64_t)frame[depth % sizeof frame];
}

static void use_up(void *arg)
{
    *(uint64_t *)arg = overflow(1000000);
}

Test(fiber, an_overflow_meets_the_guard_page, .signal = SIGSEGV)
{
    uint64_t never = 0;
    struct fiber *self = fiber_adopt();
    fiber_switch(self, fiber_create(use_up, &never));
}
#endif
