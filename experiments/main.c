/* main.c -- the pmtwin command: finds the subcommand, reads its options, opens the output, and turns
 * an error into one line and an exit code.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/nearest.h"
#include "experiments/commands.h"
#include "experiments/console.h"
#include "experiments/report.h"

enum { EXIT_DONE, EXIT_CHECK, EXIT_USAGE, EXIT_LACKS, EXIT_INTERRUPTED = 130 };

struct command {
    const char *name, *operands, *what;
    enum options_command options;
    int (*run)(const struct options *o, FILE *out, char *why);
};

static const struct command commands[] = {
    {"run", "STORE[,STORE..]", "measure stores: backend x workload x thread count", COMMAND_RUN,
     command_run},
    {"explain", "STORE insert|read|delete KEY", "every event of one operation", COMMAND_EXPLAIN,
     command_explain},
    {"list", "[stores|profiles|workloads|counters]", "what there is", COMMAND_LIST, command_list},
    {"bench", "", "the emulator's own speed", COMMAND_BENCH, command_bench},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

int command_run(const struct options *o, FILE *out, char *why)
{
    struct rows rows = {0};
    int error = runner_run(o, &rows, why);

    /* What is finished is kept, also when a later row failed. */
    if (rows.count || !error)
        report(out, o, &rows);
    /* A table says so itself. */
    for (int i = 0; i < rows.count && o->format != FORMAT_TABLE; i++)
        if (strcmp(rows.row[i].backend, "pmem") == 0 && !rows.row[i].persistent &&
            !rows.row[i].skipped) {
            fprintf(stderr, "pmtwin: note: %s is not persistent memory: its contents survive a "
                            "process crash but no power cut\n", rows.row[i].spec);
            break;
        }
    rows_free(&rows);
    return error;
}

static void help(void)
{
    fputs("pmtwin COMMAND ..: persistent-memory stores, measured and modelled\n\n", stdout);
    for (int i = 0; i < COMMANDS; i++)
        printf("  pmtwin %s %s\n      %s\n", commands[i].name, commands[i].operands,
               commands[i].what);
    fputs("  pmtwin help [COMMAND]\n\noptions of run\n", stdout);
    options_help(COMMAND_RUN);
    fputs("\nexit codes: 0 done, 1 a check failed, 2 wrong usage, 3 the machine lacks what was\n"
          "asked, 130 ended by Ctrl-C (finished rows are printed)\n",
          stdout);
}

static void help_one(const struct command *c)
{
    printf("pmtwin %s %s\n    %s\n\n", c->name, c->operands, c->what);
    options_help(c->options);
}

static int complain(const char *why)
{
    console_clear();
    fprintf(stderr, "pmtwin: %s\n", why);
    return EXIT_USAGE;
}

static int exit_code(int error)
{
    switch (error) {
    case 0:
        return EXIT_DONE;
    case -EINTR:
        return EXIT_INTERRUPTED;
    case -ECANCELED:
    case -EIO:
    case -ENOSPC:
    case -EOVERFLOW:
    case -EDEADLK:
        return EXIT_CHECK;
    case -ENOMEM:
    case -ENODEV:
    case -EAGAIN:
    case -ENOTSUP:
        return EXIT_LACKS;
    default:
        return EXIT_USAGE;
    }
}

static int run_command(const struct command *c, const struct options *o)
{
    char why[BACKEND_WHY_MAX] = "";
    FILE *out = stdout;

    if (o->output_path && !(out = fopen(o->output_path, "w"))) {
        snprintf(why, sizeof why, "--output %s: cannot be written: %s; give another name",
                 o->output_path, strerror(errno));
        return complain(why);
    }
    console_catch_interrupt();
    int error = c->run(o, out, why);
    if (fflush(out) || ferror(out)) {
        snprintf(why, sizeof why, "results cannot be written: %s; make room and run again",
                 strerror(errno));
        error = error ? error : -EIO;
    }
    if (out != stdout)
        fclose(out);
    if (error == -EINTR)
        snprintf(why, sizeof why, "ended by Ctrl-C; rows that were finished are kept");
    if (error)
        complain(why);
    return exit_code(error);
}

static const struct command *find_command(const char *word, char *why, size_t why_size)
{
    const char *names[COMMANDS];

    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, word) == 0)
            return &commands[i];
        names[i] = commands[i].name;
    }
    const char *near = nearest_name(word, names, COMMANDS);
    snprintf(why, why_size, "there is no command '%s'; %s%s%s", word,
             near ? "did you mean '" : "see pmtwin help", near ? near : "", near ? "'?" : "");
    return NULL;
}

static bool asks_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int main(int argc, char **argv)
{
    char why[BACKEND_WHY_MAX] = "";
    struct options o;

    if (argc < 2)
        return complain("no command; give run, explain, list or bench, see pmtwin help");
    if (asks_help(argv[1]) && argc == 2) {
        help();
        return EXIT_DONE;
    }
    bool help_wanted = asks_help(argv[1]);
    const struct command *c = find_command(argv[help_wanted ? 2 : 1], why, sizeof why);
    if (!c)
        return complain(why);
    for (int i = 2; i < argc; i++)
        help_wanted |= strcmp(argv[i], "--help") == 0;
    if (help_wanted) {
        help_one(c);
        return EXIT_DONE;
    }
    int error = options_read(&o, c->options, argc - 2, argv + 2, why, sizeof why);
    int code = error ? complain(why) : run_command(c, &o);
    options_free(&o);
    return code;
}
