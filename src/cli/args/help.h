/* The table of commands as help, man pages and completion scripts. */
#ifndef CUSPAN_CLI_ARGS_HELP_H
#define CUSPAN_CLI_ARGS_HELP_H

#include "cli/args/command_table.h"

#include <stdio.h>

/* All commands, one per line. */
void help_print_overview(FILE *out);
void help_print_command(FILE *out, const struct command *command);

/* The man page cuspan-COMMAND(1) in roff; NULL: cuspan(1). */
void man_print(FILE *out, const struct command *command);

/* Scripts for the shells to source, or to load when cuspan is completed. */
void completion_print_bash(FILE *out);
void completion_print_zsh(FILE *out);
void completion_print_fish(FILE *out);

#endif
