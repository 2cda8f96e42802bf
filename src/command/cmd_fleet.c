#include "command/table/command_table.h"

#include <stdio.h>
#include <string.h>

/* With the Python package, `cuspan` is a script that runs it and never comes here. */
int cmd_fleet(const struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            help_print_command(stdout, command);
            return EXIT_OK;
        }
    }
    fputs("cuspan fleet is a part of cuspan's Python package: run python -m cuspan fleet. To install it "
          "from the folder dist: pip install --find-links dist 'cuspan[fleet]'\n",
          stderr);
    return EXIT_USAGE;
}
