/* Writing on a thread of the host: a closed pipe raises SIGPIPE, and a file beyond the host's limit (ulimit
 * -f) raises SIGXFSZ, and both would end the host. Neither its handlers nor its signal masks change. Agent
 * threads block all signals and need none of this. */
#pragma once

#include <signal.h>

struct write_signals {
    sigset_t before, pending;
};

/* Both are async-signal-safe and keep errno. */
void write_signals_hold(struct write_signals *signals);
/* Discards the signals that were raised since. */
void write_signals_release(const struct write_signals *signals);
