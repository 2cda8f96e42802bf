/* Reading a subcommand's arguments by its options in the table of commands. Complaints go to standard error,
 * with the nearest known name; the caller ends with EXIT_USAGE. */
#ifndef CUSPAN_CLI_ARGS_OPTIONS_H
#define CUSPAN_CLI_ARGS_OPTIONS_H

#include "base/status.h"
#include "cli/args/command_table.h"

#define OPTION_END     0
#define OPTION_OPERAND (-1) /* `value` is the operand */
#define OPTION_WRONG   (-2) /* the complaint is written */
#define OPTION_HELP    (-3) /* the help is written */

struct options {
    const struct command *command;
    int argc;
    char **argv;
    int next; /* index of the next argument; after OPTION_END, of the first one of the launched program */
    bool only_operands; /* "--" has been seen */
    const char *value;  /* of the option just returned, or the operand */
};

void options_init(struct options *options, const char *command_name, int argc, char **argv);
/* The id of the next option, or one of the OPTION_ values. For a launcher, OPTION_END at its first operand.
 */
int options_next(struct options *options);
/* For the two special results: the exit status that the command ends with. */
int options_exit_status(int result);
/* A complaint about the arguments with a hint at the help. Returns EXIT_USAGE. */
int options_complain(const struct options *options, const char *format, ...) PRINTF_LIKE(2, 3);
/* A number between min and max; false with a complaint. */
bool options_number(const struct options *options, const char *name, long min, long max, long *number);
/* Which of `words` (separated by spaces) the value is, from 0; -1 with a complaint. */
int options_word(const struct options *options, const char *name, const char *words);

/* The name of `names` that `wrong` was most likely meant to be, or NULL when none is near. */
const char *options_suggest(const char *wrong, const char *const *names, size_t count);

#endif
