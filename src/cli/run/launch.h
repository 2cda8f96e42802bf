/* Running a program as if nothing stood between it and the shell: same terminal, same process group, signals
 * handed on, its end passed on as it was. */
#ifndef CUSPAN_CLI_RUN_LAUNCH_H
#define CUSPAN_CLI_RUN_LAUNCH_H

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
 * INT, TERM, HUP, QUIT, USR1 and USR2 that somebody sends to us are sent on. What the terminal sends (Ctrl-C,
 * Ctrl-\, hang-up) goes to the whole process group, so the program has it already; stop and continue work for
 * the same reason.
 *
 * OK: `launched` says how it went. NOT_FOUND and UNAVAILABLE: it could not be started; err says why. */
enum status launch(char **argv, void (*prepare)(void *context), void *context, struct launched *launched,
                   struct error *err) MUST_CHECK;

/* Ends as the program ended: returns its exit status, or dies of the signal that it died of. */
int launch_end(int wait_status);

#endif
