/* A subcommand with its options, as a row of the table of commands (command/table/command_table.h). */
#pragma once

#include "cli/util/exit_code.h"

#include <stdbool.h>
#include <stdio.h>

/* Options without a short form. */
enum option_id {
    OPTION_CONFIG = 256,
    OPTION_SERVICE_NAME,
    OPTION_DETAIL,
    OPTION_SET,
    OPTION_LIBRARY,
    OPTION_ENDPOINT,
    OPTION_PROTOCOL,
    OPTION_FILE,
    OPTION_CONSOLE,
    OPTION_SHARE,
    OPTION_GIVE_WAY,
    OPTION_TRACE,
    OPTION_LINES,
    OPTION_PERFETTO,
    OPTION_WIDTH,
    OPTION_ROWS,
    OPTION_LINEAR,
    OPTION_RANK,
    OPTION_COLOR,
    OPTION_TIMEOUT,
    OPTION_PACED,
    OPTION_OVERLOAD,
    OPTION_REPEAT,
    OPTION_NOW,
    OPTION_API,
    OPTION_CUPTI_VERSION,
    OPTION_ALL,
    OPTION_JSON,
    OPTION_DIRECTORY,
    OPTION_RELEASE,
    OPTION_USER,
    OPTION_ALL_USERS,
    OPTION_CONTAINER,
    OPTION_EXPECT,
    OPTION_ONLY,
    OPTION_SECONDS,
    OPTION_LIST,
    OPTION_CSV,
    OPTION_MARKDOWN,
    OPTION_TABLE,
    OPTION_TOP,
    OPTION_FINDINGS,
    OPTION_ALIGN_CLOCKS,
    OPTION_BY,
    OPTION_SOURCE,
    OPTION_KERNEL_LINES,
    OPTION_DIFF,
    OPTION_WEIGHT,
    OPTION_FORMAT,
    OPTION_SAVE,
    OPTION_SQLITE,
    OPTION_BASE,
    OPTION_NEW,
    OPTION_LIMITS,
    OPTION_LEVELS,
    OPTION_ROUNDS,
    OPTION_WARM_UP,
    OPTION_FIGURE,
    OPTION_RATE,
    OPTION_INTERVAL,
    OPTION_SORT,
    OPTION_ONCE,
    OPTION_DEVICE,
    OPTION_PASSES,
    OPTION_SAMPLING,
    OPTION_CUPTI,
    OPTION_MAN,
    OPTION_COMPLETION,
    OPTION_CANDIDATES,
    OPTION_THIS_HOST,
    OPTION_JOB,
    OPTION_PODS,
    OPTION_HOSTS,
    OPTION_RAS,
    OPTION_OF_FLEET /* Python reads them */
};

/* The shell completion of an operand or an option's argument. */
enum completes {
    COMPLETES_NOTHING,
    COMPLETES_FILE,        /* that is read; "-": standard input */
    COMPLETES_OUTPUT,      /* a file that is written, or for some commands "-": standard output */
    COMPLETES_OUTPUT_FILE, /* never standard output */
    COMPLETES_PROGRAM,
    COMPLETES_COMMAND,
    COMPLETES_WORDS,       /* one of `words`; options_next() refuses others */
    COMPLETES_SUGGESTIONS, /* one of `words`, or another one */
    COMPLETES_WORD_OR_FILE
};

static inline bool command_writes_file(enum completes completes)
{
    return completes == COMPLETES_OUTPUT || completes == COMPLETES_OUTPUT_FILE;
}

static inline bool command_names_file(enum completes completes)
{
    return completes == COMPLETES_FILE || command_writes_file(completes);
}

struct command_option {
    int id;               /* what options_next() returns; a letter is also the short option */
    const char *name;     /* long name without dashes; NULL ends the list */
    const char *argument; /* the argument's name in help; NULL: no argument */
    const char *help;
    enum completes completes;
    const char *words; /* separated by spaces */
};

struct command_example {
    const char *command; /* NULL ends the list */
    const char *text;
};

struct command {
    const char *name;
    const char *operands; /* as in the usage line; NULL: no operands */
    const char *summary;  /* one line */
    const char *text;     /* paragraphs, separated by an empty line; a newline within one is kept */
    int (*run)(const struct command *command, int argc, char **argv); /* argv[0] is its name */
    bool is_launcher; /* options end at the first operand: the rest belongs to the launched program */
    enum completes completes;
    const char *words;                    /* COMPLETES_COMMAND: further operands */
    const struct command_option *options; /* NULL: only --help */
    const struct command_example *examples;
    const char *related; /* commands for SEE ALSO, separated by spaces; NULL: none */
};

/* The help of a subcommand (help.c). */
void help_print_command(FILE *out, const struct command *command);
