/* kill_driver.c -- a store survives kill -9 at any instant, restart after restart.
 *
 *     parent                             child
 *     fork, wait until work began        opens the pool file, recovers, workers change keys
 *     SIGKILL after 0.2 .. 30 ms         gone between two instructions, most often in an operation
 *     now and then: fork, SIGKILL        recovers, and is gone before that is done
 *     fork, wait                         recovers, compares all records with the ledger; once more
 *
 * A pool goes through RUNS_PER_POOL runs, each of which goes on with what the one before left; then
 * a new one begins, with the other kind of record. The page cache keeps every store that was
 * executed, flushed or not. So this sees a wrong order of stores, and what recovery makes of it; it
 * cannot see that a flush is missing.
 *
 *     kill_driver [--expect-fault] [RUNS [DIRECTORY [SEED]]]
 *
 * Exit 0: all there; 1 and one line: a fault of the store; 2: the set-up failed, which says nothing
 * about the store; 3: a child hung. --expect-fault, for a store that was broken on purpose: 0 when
 * a fault was found, 1 when none was. Nothing is left behind, however it ends: children die with
 * their parent, and the pool file has no name.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/native.h"
#include "core/registry.h"
#include "tests/kill_ledger.h"
#include "tests/random.h"

enum {
    RUNS = 200,
    RUNS_PER_POOL = 10,
    RECOVERY_EVERY = 5, /* in each so many'th run .. */
    RECOVERY_KILLS = 3, /* .. so many recoveries are killed */
    POOL_MIB = 32,
    VOLATILE_MIB = 256,
    WATCHDOG_S = 120, /* of a child; no run needs a hundredth of it */
};

static const uint64_t kill_from_ns = 200000, kill_to_ns = 30000000;
static const uint64_t line_ns = 400; /* that a fence waits for each line flushed before it */

enum { OPENING, RECOVERING, RECOVERED }; /* kill_ledger.stage */

static bool expect_fault;

/* ---- small things ---------------------------------------------------------------------------- */

static void nap(uint64_t ns)
{
    const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
                               .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The store's flushes and fences come through here (the linker's --wrap), and a fence takes its
 * time for every line, as on a slow DIMM. An interrupt lets the processor finish what it has begun,
 * stores behind a stalled fence included; so without the wait hardly any kill would fall between a
 * commit and the store that follows it, nor into a split. */
static _Thread_local uint64_t lines;

void __real_pmem_flush(const void *from, size_t size);
void __real_pmem_drain(void);
void __wrap_pmem_flush(const void *from, size_t size);
void __wrap_pmem_drain(void);

void __wrap_pmem_flush(const void *from, size_t size)
{
    lines += native_lines((uintptr_t)from, size);
    __real_pmem_flush(from, size);
}

void __wrap_pmem_drain(void)
{
    __real_pmem_drain();
    const uint64_t end = now_ns() + lines * line_ns;
    while (now_ns() < end)
        ;
    lines = 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void open_backend(struct kill_table *t, const struct kill_plan *p, bool fresh)
{
    const struct backend_options options = {.pool_bytes = (uint64_t)POOL_MIB << 20,
                                            .volatile_bytes = (uint64_t)VOLATILE_MIB << 20,
                                            .pool_path = p->pool_path,
                                            .reuse = !fresh,
                                            .overwrite = fresh,
                                            .threads = KILL_WORKERS,
                                            .node = -1,
                                            .memory_node = -1};
    char why[BACKEND_WHY_MAX] = "";
    int error;

    *t = (struct kill_table){.plan = p,
                             .ops = registry_find("esh", REGISTRY_NATIVE),
                             .pools = registry_pool(REGISTRY_NATIVE)};
    /* Whoever looks at a dead process's memory, as ps does, keeps its lock on the file a while. */
    while ((error = backend_open(&t->backend, "dram", &options, why)) == -EBUSY)
        nap(1000000);
    if (error)
        kill_fail(p, KILL_SETUP, "%s", why);
}

static int blame(int error)
{
    return error == -ENOMEM ? KILL_SETUP : KILL_FAULT;
}

static void recover(struct kill_table *t, const struct kill_plan *p)
{
    struct kill_ledger *l = p->ledger;
    char why[POOL_WHY_MAX] = "";

    open_backend(t, p, false);
    const uint64_t start = now_ns();
    __atomic_store_n(&l->stage, RECOVERING, __ATOMIC_RELEASE);
    int error = t->pools->open(&t->pool, backend_pool(t->backend), backend_volatile(t->backend),
                               why);
    if (error)
        kill_fail(p, blame(error), "the pool does not open: %s", why);
    error = t->ops->open(&t->s, &t->pool, &t->found);
    if (error)
        kill_fail(p, blame(error), "recovery refuses the records: %s", strerror(-error));
    __atomic_store_n(&l->stage, RECOVERED, __ATOMIC_RELEASE);
    l->recovery_ns = now_ns() - start;
}

static void close_all(struct kill_table *t)
{
    t->ops->close(t->s);
    t->pools->close(&t->pool);
    backend_close(t->backend);
}

/* ---- what children do ------------------------------------------------------------------------ */

static void make(const struct kill_plan *p)
{
    struct store_config config = {.fixed = p->fixed};
    struct kill_table t;
    char why[POOL_WHY_MAX] = "";

    open_backend(&t, p, true);
    for (int i = 0; t.ops->parameters[i].name; i++) {
        const struct store_parameter *parameter = &t.ops->parameters[i];
        config.parameters[i] = strcmp(parameter->name, "buckets") == 0 ? p->buckets
                               : strcmp(parameter->name, "probe") == 0 ? p->probe
                                                                       : parameter->value;
    }
    if (t.pools->create(&t.pool, backend_pool(t.backend), backend_volatile(t.backend), why))
        kill_fail(p, KILL_SETUP, "%s", why);
    const int error = t.ops->create(&t.s, &t.pool, &config);
    if (error)
        kill_fail(p, KILL_SETUP, "the store cannot be made: %s", strerror(-error));
    close_all(&t);
    kill_begin(p);
}

/* One thread takes the turns of all workers, four those of one each. */
static void work_on(void *arg, int self)
{
    struct kill_table *t = arg;
    struct kill_bytes b;
    const struct kill_plan *p = t->plan;

    for (int worker = self; worker < KILL_WORKERS; worker += p->threads)
        p->ledger->workers[worker].random = p->random + (uint64_t)worker;
    __atomic_fetch_add(&p->ledger->working, 1, __ATOMIC_ACQ_REL);
    for (;;)
        for (int worker = self; worker < KILL_WORKERS; worker += p->threads)
            kill_turn(t, &b, worker);
}

static void work(const struct kill_plan *p)
{
    struct kill_table t;
    char why[BACKEND_WHY_MAX] = "";

    recover(&t, p);
    backend_run(t.backend, TARGET_NATIVE, p->threads, work_on, &t, why);
    kill_fail(p, KILL_SETUP, "%s", why); /* it does not end otherwise */
}

static void recover_only(const struct kill_plan *p)
{
    struct kill_table t;
    recover(&t, p);
    for (;;)
        pause();
}

/* Twice: what recovery left is a whole table, and recovering that changes nothing. */
static void verify(const struct kill_plan *p)
{
    struct kill_table t;

    recover(&t, p);
    p->ledger->halves += t.found.discarded > 0;
    const struct store_recovery first = t.found;
    kill_judge(&t);
    close_all(&t);

    recover(&t, p);
    if (t.found.records != first.records || t.found.segments != first.segments)
        kill_fail(p, KILL_FAULT, "the first recovery finds %llu records in %llu segments, "
                  "the second %llu in %llu", (unsigned long long)first.records,
                  (unsigned long long)first.segments, (unsigned long long)t.found.records,
                  (unsigned long long)t.found.segments);
    if (t.found.discarded)
        kill_fail(p, KILL_FAULT, "a second recovery still discards %llu segments",
                  (unsigned long long)t.found.discarded);
    kill_judge(&t);
    close_all(&t);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static _Noreturn void report(const struct kill_plan *p, int code, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "kill_driver: run %llu, seed %llu (%d thread%s, %s records, %llu buckets, "
            "probe %llu, killed after %.2f ms): %s\n", (unsigned long long)p->number,
            (unsigned long long)p->seed, p->threads, p->threads > 1 ? "s" : "",
            p->fixed ? "fixed" : "variable", (unsigned long long)p->buckets,
            (unsigned long long)p->probe, (double)p->delay_ns * 1e-6, what);
    exit(expect_fault && code == KILL_FAULT ? KILL_RIGHT : code);
}

/* The child dies with its parent, and of itself when it hangs. */
static pid_t start(const struct kill_plan *p, void (*child)(const struct kill_plan *))
{
    const pid_t parent = getpid();
    p->ledger->working = 0;
    p->ledger->stage = OPENING;
    p->ledger->fault[0] = '\0';
    const pid_t pid = fork();
    if (pid < 0)
        report(p, KILL_SETUP, strerror(errno));
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(KILL_SETUP);
    alarm(WATCHDOG_S);
    child(p);
    _exit(KILL_RIGHT);
}

/* Waits for a child's end, and reports one that is neither right nor the kill that we sent. */
static void finish(const struct kill_plan *p, pid_t pid, bool killed)
{
    char text[64];
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            report(p, KILL_SETUP, strerror(errno));
    if (WIFEXITED(status)) {
        const char *words = p->ledger->fault;
        if (WEXITSTATUS(status) != KILL_RIGHT) /* a sanitizer's exit code is its own */
            report(p, WEXITSTATUS(status) == KILL_SETUP ? KILL_SETUP : KILL_FAULT,
                   words[0] ? words : "a child ended without a word");
    } else if (WTERMSIG(status) == SIGALRM) {
        report(p, KILL_HANG, "a child hung");
    } else if (WTERMSIG(status) != SIGKILL) {
        snprintf(text, sizeof text, "a child died of signal %d", WTERMSIG(status));
        report(p, KILL_FAULT, text);
    } else if (!killed) {
        report(p, KILL_SETUP, "somebody else killed a child");
    }
}

/* Lets the child go on until *flag is so far, or it ended; then for ns; then kills it. */
static void kill_after(const struct kill_plan *p, pid_t pid, const uint32_t *flag, uint32_t far,
                       uint64_t ns)
{
    siginfo_t ended = {0};
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < far && ended.si_pid == 0) {
        nap(20000);
        waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT); /* the pid stays ours */
    }
    nap(ns);
    kill(pid, SIGKILL);
    finish(p, pid, true);
}

static void play(const struct kill_plan *p)
{
    struct kill_ledger *l = p->ledger;
    uint64_t random = p->random;

    if (p->number % RUNS_PER_POOL == 0)
        finish(p, start(p, make), false);
    kill_after(p, start(p, work), &l->working, (uint32_t)p->threads, p->delay_ns);
    for (int i = 0; p->number % RECOVERY_EVERY == RECOVERY_EVERY - 1 && i < RECOVERY_KILLS; i++) {
        const uint64_t ns = random_next(&random) % (l->recovery_ns + 1);
        kill_after(p, start(p, recover_only), &l->stage, RECOVERING, ns);
        l->recoveries += l->stage == RECOVERING;
    }
    finish(p, start(p, verify), false);
}

static struct kill_plan plan_run(struct kill_ledger *l, const char *pool_path, uint64_t seed,
                                 uint64_t number)
{
    /* Many splits, many merges, and a bit of all. */
    static const struct {
        uint64_t buckets, probe, limit_most;
    } shapes[] = {{4, 4, KILL_KEYS}, {4, 1, 512}, {64, 4, KILL_KEYS}, {4, 4, 512}};
    const uint64_t pool = number / RUNS_PER_POOL;
    const uint64_t shape = pool / 2 % (sizeof shapes / sizeof shapes[0]);
    struct kill_plan p = {.ledger = l,
                          .pool_path = pool_path,
                          .number = number,
                          .seed = seed,
                          .buckets = shapes[shape].buckets,
                          .probe = shapes[shape].probe,
                          .limit_most = shapes[shape].limit_most,
                          .threads = number % 2 ? KILL_WORKERS : 1,
                          .fixed = pool % 2 == 0};
    uint64_t mixed = seed << 32 ^ number;
    p.delay_ns = kill_from_ns + random_next(&mixed) % (kill_to_ns - kill_from_ns);
    p.random = random_next(&mixed);
    return p;
}

/* The way to a file that has no name, and so goes with the last process that has it open. */
static void make_nameless(const char *directory, char path[32])
{
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s/kill_driver.XXXXXX", directory);
    const int file = length < (int)sizeof name ? mkstemp(name) : -1;
    if (file < 0) {
        fprintf(stderr, "kill_driver: cannot make a file in %s: %s\n", directory, strerror(errno));
        exit(KILL_SETUP);
    }
    unlink(name);
    snprintf(path, 32, "/proc/self/fd/%d", file);
}

static uint64_t number_argument(const char *text, uint64_t least)
{
    char *end;
    const uint64_t number = strtoull(text, &end, 10);
    if (end != text && *end == '\0' && number >= least)
        return number;
    fprintf(stderr, "kill_driver [--expect-fault] [RUNS [DIRECTORY [SEED]]]\n");
    exit(KILL_SETUP);
}

/* Every run of every pool; returns how many operations were acknowledged. */
static uint64_t play_all(struct kill_ledger *l, const char *pool_path, uint64_t runs, uint64_t seed)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < runs; i++) {
        const struct kill_plan p = plan_run(l, pool_path, seed, i);
        play(&p);
        if ((i + 1) % RUNS_PER_POOL == 0 || i + 1 == runs) /* the next pool's ledger is empty */
            for (int w = 0; w < KILL_WORKERS; w++)
                ended += l->workers[w].sequence / 2;
    }
    return ended - l->done - l->undone; /* kill_judge() ended those */
}

int main(int argc, char **argv)
{
    const char *temporary = getenv("TMPDIR");
    char pool_path[32];

    expect_fault = argc > 1 && strcmp(argv[1], "--expect-fault") == 0;
    argc -= expect_fault, argv += expect_fault;
    const uint64_t runs = argc > 1 ? number_argument(argv[1], 1) : RUNS;
    const char *directory = argc > 2 ? argv[2] : temporary ? temporary : "/tmp";
    const uint64_t seed = argc > 3 ? number_argument(argv[3], 0) : 1;

    struct kill_ledger *l =
        mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (l == MAP_FAILED) {
        fprintf(stderr, "kill_driver: mmap: %s\n", strerror(errno));
        return KILL_SETUP;
    }
    make_nameless(directory, pool_path);
    const uint64_t acknowledged = play_all(l, pool_path, runs, seed);
    printf("%llu kills (%llu with 1 thread, %llu with %d), %llu more during recovery: "
           "%llu acknowledged operations, %llu caught in flight (%llu done, %llu not), "
           "%llu during a split or merge: %s\n", (unsigned long long)runs,
           (unsigned long long)(runs - runs / 2), (unsigned long long)(runs / 2), KILL_WORKERS,
           (unsigned long long)l->recoveries, (unsigned long long)acknowledged,
           (unsigned long long)(l->done + l->undone), (unsigned long long)l->done,
           (unsigned long long)l->undone, (unsigned long long)l->halves,
           expect_fault ? "no fault was found" : "all there");
    munmap(l, sizeof *l);
    return expect_fault ? KILL_FAULT : KILL_RIGHT;
}
