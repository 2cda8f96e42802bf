/* Parses a subcommand's arguments by its options in the table of commands. Errors go to standard error, with
 * the closest known name; the caller then exits with EXIT_USAGE. */
#pragma once

#include "base/status.h"
#include "cli/args/command.h"

#include <stdint.h>

#define OPTION_END     0
#define OPTION_OPERAND (-1) /* `value` is the operand */
#define OPTION_WRONG   (-2) /* an error was printed */
#define OPTION_HELP    (-3) /* help was printed */

struct options {
    const struct command *command;
    int argc;
    char **argv;
    int next; /* index of the next argument; after OPTION_END, of the launched program's first argument */
    bool only_operands;                  /* "--" was seen */
    const struct command_option *option; /* the one just returned; NULL: an operand */
    const char *value;                   /* its argument, or the operand */
    int word;                            /* COMPLETES_WORDS: the index of `value` among the words */
    int status;                          /* of options_read() */
    const int *chosen; /* the latest of several options without arguments that exclude each other */
    const char *chosen_by;
};

/* Grows; the caller frees the items. */
struct option_list {
    const char **items;
    size_t count, capacity;
};

/* The variable that an option or the operands set: one of the pointers. */
struct option_target {
    int id;                   /* 0 ends the list */
    bool *flag;               /* becomes true */
    const char **text;        /* becomes the argument */
    struct option_list *list; /* gets it as its last item */
    int *choice;              /* becomes the index of the argument among the option's words, or `value` */
    int value;                /* for an option without an argument */
    uint32_t *number;         /* becomes the argument, which must be between min and max */
    long min, max;
};

/* Processes an option or operand. Returns EXIT_OK, or after an error message the command's exit status. */
typedef int options_take_fn(void *context, struct options *options, int option);

void options_init(struct options *options, const struct command *command, int argc, char **argv);
/* Reads all arguments: sets the targets (NULL: none), and passes other options and operands to `take`. False:
 * the command ends with options->status, because of --help or after an error message. */
bool options_read(struct options *options, const struct option_target *targets, options_take_fn *take,
                  void *context);
/* The ID of the next option, or an OPTION_ value. For a launcher, OPTION_END at its first operand. */
int options_next(struct options *options);
/* Prints an error about the arguments, with a pointer to the help. Returns EXIT_USAGE. */
int options_complain(const struct options *options, const char *format, ...) PRINTF_LIKE(2, 3);
/* The option's argument as a number between min and max; otherwise prints an error and returns false. */
bool options_number(const struct options *options, long min, long max, long *number);

/* The name in `names` that `wrong` most likely meant, or NULL if none is close. */
const char *options_suggest(const char *wrong, const char *const *names, size_t count);
