/* The exit status of every subcommand. */
#pragma once

enum exit_code {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_CANNOT_RUN = 126, /* as in shells: the program exists but cannot be executed */
    EXIT_NO_PROGRAM = 127  /* as in shells: the program does not exist */
};
