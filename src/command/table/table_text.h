/* The table of commands as an overview, man pages and completion scripts. */
#pragma once

#include "command/table/command_table.h"

#include <stdio.h>

/* All commands, one per line. */
void overview_print(FILE *out);

/* The man page cuspan-COMMAND(1) in roff; NULL: cuspan(1). */
void man_print(FILE *out, const struct command *command);

/* Scripts for the shells to source, or to load when cuspan is completed: for bash, zsh and fish. */
extern const char *const completion_scripts[];
/* For these scripts: what completes the last of the words after `cuspan`. A line is a candidate, possibly
 * with a tab and its description, or `:files`, or `:program N`: word N (0: cuspan) is that of a program to
 * launch. */
void completion_print_candidates(FILE *out, int count, char *const *words);
