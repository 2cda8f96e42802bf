/* Runs a program as if the shell had started it: same terminal, same process group, signals forwarded, and
 * its exit status passed on. */
#pragma once

#include "base/status.h"

#include <stdint.h>
#include <sys/types.h>

struct launched {
    pid_t pid;
    int wait_status; /* waitpid's */
    uint64_t start_ns, end_ns;
};

/* Runs argv[0] (found by PATH) with `prepare` (or NULL) called in the child before exec, and waits for its
 * end.
 *
 * Signals are forwarded if a process sent them, except those that stop and continue. Those of the terminal
 * (Ctrl-C, Ctrl-\, hang-up, stop, continue) go to the whole process group, so the program gets them without
 * us. All children are reaped: process 1 of a container inherits orphans.
 *
 * If no process can be made and there is no `prepare`, the program takes the place of this one, after a log
 * line.
 *
 * OK: `launched` is filled in. NOT_FOUND and UNAVAILABLE: the program could not be started; err has the
 * reason. */
enum status launch(char **argv, void (*prepare)(void *context), void *context, struct launched *launched,
                   struct error *err) MUST_CHECK;

/* The exit status of the command after launch(); EXIT_OK: the program has ended. */
int launch_exit_code(enum status status);
/* Ends like the program: returns its exit status, or ends by the same signal. */
int launch_end(int wait_status);

/* Searches PATH for a program, like execvp; allocated, or NULL with errno. */
char *launch_find(const char *name);
