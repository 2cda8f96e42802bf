/* The help of a subcommand. */
#pragma once

#include "cli/args/command.h"

#include <stdio.h>

void help_print_command(FILE *out, const struct command *command);
