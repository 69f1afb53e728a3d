/* A stand-in for Criterion where it is not packaged: a cross build under qemu-user.
 *
 * Only what test_fiber.c uses. Each Test() runs in a process of its own, as Criterion's do, so that
 * one may end by a signal; the first assertion that does not hold ends it. main prints a line per
 * test and returns 1 if one failed or none was there.
 */
#ifndef TESTS_PLAIN_CRITERION_H
#define TESTS_PLAIN_CRITERION_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct plain_test {
    const char *name;
    void (*run)(void);
    int signal; /* that ends it; 0: none does */
};

enum { PLAIN_TESTS = 64 };
static struct plain_test plain_tests[PLAIN_TESTS];
static int plain_count;

#define Test(suite, title, ...)                                                            \
    static void suite##_##title(void);                                                     \
    __attribute__((constructor)) static void suite##_##title##_register(void)              \
    {                                                                                      \
        if (plain_count == PLAIN_TESTS)                                                    \
            abort();                                                                       \
        plain_tests[plain_count++] = (struct plain_test){                                  \
            .name = #suite "/" #title, .run = suite##_##title, __VA_ARGS__};               \
    }                                                                                      \
    static void suite##_##title(void)

#define cr_assert(condition, ...)                                                          \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)
#define cr_assert_eq(a, b, ...) cr_assert((a) == (b), "")
#define cr_assert_not_null(a, ...) cr_assert((a) != NULL, "")

static int plain_run(const struct plain_test *test)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        test->run();
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 0;
    return test->signal ? WIFSIGNALED(status) && WTERMSIG(status) == test->signal
                        : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    int failed = 0;
    for (int i = 0; i < plain_count; i++) {
        const int passed = plain_run(&plain_tests[i]);
        failed += !passed;
        printf("%s %s\n", passed ? "passed" : "FAILED", plain_tests[i].name);
        fflush(stdout);
    }
    return failed || plain_count == 0;
}
#endif
