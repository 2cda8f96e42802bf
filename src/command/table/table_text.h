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

/* The script's text for a kind of values: `texts` by enum completes; %s in it stands for the words. */
void completion_print_values(FILE *out, const char *const *texts, enum completes completes,
                             const char *words);
/* `words`, and the names of the commands for COMPLETES_COMMAND. */
void completion_print_words(FILE *out, enum completes completes, const char *words);
/* The launchers' names, and a blank and an option for each of their options whose argument is a word of its
 * own. */
void completion_print_launchers(FILE *out, const char *separator);
void completion_print_launcher_options(FILE *out);
