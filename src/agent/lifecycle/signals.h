/* Finishing on signals that would end the host at once, by their default action: the setting on_signal. The
 * agent then delivers what it has, as at exit, and lets the signal do its work. */
#ifndef CUSPAN_AGENT_SIGNALS_H
#define CUSPAN_AGENT_SIGNALS_H

#include "model/settings.h"

#include <stdbool.h>

/* What the handler calls, on whatever thread the signal came to; both async-signal-safe. `begin` makes the
 * pipeline's thread finish, and is false where there is nothing to finish any more. */
struct signals_finish {
    bool (*begin)(int signal_number);
    bool (*is_done)(void);
};

/* A handler for each of the settings' signals for which the host has none: it ignores none and handles none.
 */
void signals_begin(const struct settings *settings, struct signals_finish finish);

bool signals_are_named(const struct settings *settings, int signal_number);

/* Back to the default where the handler is still ours. */
void signals_end(void);

#endif
