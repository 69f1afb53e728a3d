/* console.c -- see console.h. */
#include "experiments/console.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static bool line_open;
static time_t first_word;

static void note(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&caught, 1, __ATOMIC_RELAXED);
}

void console_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
}

bool console_interrupted(void)
{
    return __atomic_load_n(&caught, __ATOMIC_RELAXED) != 0;
}

void console_progress(const char *format, ...)
{
    va_list arguments;

    if (!isatty(STDERR_FILENO))
        return;
    if (first_word == 0)
        first_word = time(NULL);
    if (time(NULL) - first_word < 2)
        return;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    fflush(stderr);
    va_end(arguments);
    line_open = true;
}

void console_clear(void)
{
    if (line_open)
        fputs("\r\033[K", stderr);
    line_open = false;
}
