/* Starts the hang watch (agent/watch/watch.h) and gives it what it needs of capture and of the outputs. */
#pragma once

#include "model/settings/settings.h"
#include "model/step.h"

/* Decides whether this process has a hang watch (settings.hang.is_watched). Call it before the outputs are
 * made. */
void hang_watch_decide(struct settings *settings, const struct step_rules *rules);
/* Starts it, if so. Failures are logged. */
void hang_watch_start(const struct settings *settings, const struct step_rules *rules);
