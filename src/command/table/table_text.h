/* The table of commands as an overview, man pages and completion scripts. */
#pragma once

#include "command/table/command_table.h"

#include <stdio.h>

/* All commands, one per line. */
void overview_print(FILE *out);

/* The man page cuspan-COMMAND(1) in roff; NULL: cuspan(1). */
void man_print(FILE *out, const struct command *command);

/* Scripts for the shells to source, or to load when cuspan is completed. */
void completion_print_bash(FILE *out);
void completion_print_zsh(FILE *out);
void completion_print_fish(FILE *out);
