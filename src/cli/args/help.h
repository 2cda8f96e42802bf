/* The help of a subcommand. */
#ifndef CUSPAN_CLI_ARGS_HELP_H
#define CUSPAN_CLI_ARGS_HELP_H

#include "cli/args/command.h"

#include <stdio.h>

void help_print_command(FILE *out, const struct command *command);

#endif
