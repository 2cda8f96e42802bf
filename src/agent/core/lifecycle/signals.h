/* The setting on_signal: at signals whose default action would end the host at once, the agent delivers as
 * at exit, then lets the signal end the host.
 *
 * The signal arrives anywhere in the host's code, maybe while the thread holds a lock that our threads need.
 * So the handler only stores a request and a deadline in two atomics, which the pipeline thread finds after
 * its pause of at most 4 ms, and polls until that thread has ended or the time is over. Then it restores the
 * default action and queues the signal again. A flush of this thread that the signal interrupted counts as
 * lost. */
#pragma once

#include "model/settings/settings.h"

#include <stdbool.h>

/* Called by the handler on the thread that got the signal; both are async-signal-safe. `begin` makes the
 * pipeline thread finish; false if there is nothing left to finish. */
struct signals_finish {
    bool (*begin)(int signal_number);
    bool (*is_done)(void);
};

/* Installs a handler for each signal in the settings that has the default action, except for `spared` (0:
 * none). */
void signals_begin(const struct settings *settings, struct signals_finish finish, int spared);

bool signals_are_named(const struct settings *settings, int signal_number);

/* Restores the default action if the handler is still ours. */
void signals_end(void);
