/* A program that is run for its spans, which come into a file of ours: what `cuspan stat PROGRAM` reads
 * afterwards. */
#ifndef CUSPAN_CLI_RUN_TRACED_PROGRAM_H
#define CUSPAN_CLI_RUN_TRACED_PROGRAM_H

#include "cli/run/injection.h"
#include "cli/run/launch.h"

struct traced_program {
    struct injection injection; /* takes the launchers' options before the run */
    char *directory;            /* owned; removed with what is in it */
    char *spans;                /* path of the file; it isn't there where no span was made. Owned */
    struct launched launched;
};

/* Whether the first operand of a command that takes files and programs is a program to run: an executable
 * that is no recording and no JSON, or a name that lies in PATH and not here. */
bool traced_program_is_program(const char *operand);

/* Runs it as `cuspan run` does, and says on standard error, after `command`'s name, what keeps spans from
 * being complete. EXIT_OK: it ran, whatever its end; else the exit status with which to end, and all is said.
 */
int traced_program_run(struct traced_program *live, const struct options *options, char **program);

/* Safe on a zeroed one. */
void traced_program_deinit(struct traced_program *live);

#endif
