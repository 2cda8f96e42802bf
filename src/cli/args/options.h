/* Parses a subcommand's arguments by its options in the table of commands. Errors go to standard error, with
 * the closest known name; the caller then exits with EXIT_USAGE. */
#ifndef CUSPAN_CLI_ARGS_OPTIONS_H
#define CUSPAN_CLI_ARGS_OPTIONS_H

#include "base/status.h"
#include "cli/args/command_table.h"

#define OPTION_END     0
#define OPTION_OPERAND (-1) /* `value` is the operand */
#define OPTION_WRONG   (-2) /* an error was printed */
#define OPTION_HELP    (-3) /* help was printed */

struct options {
    const struct command *command;
    int argc;
    char **argv;
    int next; /* index of the next argument; after OPTION_END, of the launched program's first argument */
    bool only_operands; /* "--" was seen */
    const char *value;  /* of the option just returned, or the operand */
};

void options_init(struct options *options, const char *command_name, int argc, char **argv);
/* The id of the next option, or one of the OPTION_ values. For a launcher, OPTION_END at its first operand.
 */
int options_next(struct options *options);
/* The exit status for the two special results. */
int options_exit_status(int result);
/* Prints an error about the arguments, with a pointer to the help. Returns EXIT_USAGE. */
int options_complain(const struct options *options, const char *format, ...) PRINTF_LIKE(2, 3);
/* A number between min and max; otherwise prints an error and returns false. */
bool options_number(const struct options *options, const char *name, long min, long max, long *number);
/* The index of `value` in `words` (separated by spaces), from 0; otherwise prints an error and returns -1. */
int options_word(const struct options *options, const char *name, const char *words);

/* The name in `names` that `wrong` most likely meant, or NULL if none is close. */
const char *options_suggest(const char *wrong, const char *const *names, size_t count);

#endif
