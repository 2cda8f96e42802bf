/* The table of subcommands. Dispatch, help, man pages and shell completion are generated from it.
 *
 * A subcommand is a row in command_table.c and a file cmd_NAME.c with `int cmd_NAME(const struct command *,
 * int argc, char **argv)`. The result is the exit status. */
#pragma once

#include "cli/args/command.h"

#include <stddef.h>

extern const struct command commands[];
extern const size_t command_count;

/* NULL if there is no such command. */
const struct command *command_find(const char *name);

int cmd_run(const struct command *command, int argc, char **argv);
int cmd_record(const struct command *command, int argc, char **argv);
int cmd_replay(const struct command *command, int argc, char **argv);
int cmd_send(const struct command *command, int argc, char **argv);
int cmd_show(const struct command *command, int argc, char **argv);
int cmd_stat(const struct command *command, int argc, char **argv);
int cmd_diff(const struct command *command, int argc, char **argv);
int cmd_fleet(const struct command *command, int argc, char **argv);
int cmd_flame(const struct command *command, int argc, char **argv);
int cmd_export(const struct command *command, int argc, char **argv);
int cmd_overhead(const struct command *command, int argc, char **argv);
int cmd_counters(const struct command *command, int argc, char **argv);
int cmd_check(const struct command *command, int argc, char **argv);
int cmd_cdi(const struct command *command, int argc, char **argv);
int cmd_ps(const struct command *command, int argc, char **argv);
int cmd_status(const struct command *command, int argc, char **argv);
int cmd_top(const struct command *command, int argc, char **argv);
int cmd_hang(const struct command *command, int argc, char **argv);
int cmd_attach(const struct command *command, int argc, char **argv);
int cmd_detach(const struct command *command, int argc, char **argv);
int cmd_start(const struct command *command, int argc, char **argv);
int cmd_stop(const struct command *command, int argc, char **argv);
int cmd_flush(const struct command *command, int argc, char **argv);
int cmd_doctor(const struct command *command, int argc, char **argv);
int cmd_version(const struct command *command, int argc, char **argv);
int cmd_help(const struct command *command, int argc, char **argv);
