/* Runs a program and collects its spans in a temporary file, which `cuspan stat PROGRAM` then reads. */
#pragma once

#include "agent/operate/run/injection.h"
#include "agent/operate/run/launch.h"
#include "cli/util/temporary.h"

struct traced_program {
    struct injection injection; /* receives the launchers' options before the run */
    struct temporary spans;     /* the file, which is missing or empty if there were no spans */
    struct launched launched;
};

/* Whether the first operand of a command that takes files and programs is a program: an executable that is
 * neither a recording nor JSON, or a name found in PATH but not in this directory. */
bool traced_program_is_program(const char *operand);

/* Runs it as `cuspan run` does, and reports on standard error, after `command`'s name, what makes the spans
 * incomplete. EXIT_OK: it ran, whatever its exit status; otherwise the exit status to return, after printing
 * an error. */
int traced_program_run(struct traced_program *live, const struct options *options, char **program);

/* Accepts a zeroed struct. */
void traced_program_deinit(struct traced_program *live);
