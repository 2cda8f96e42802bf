/* Whether the agent would find a CUPTI in a target, by the same search, before anything is loaded there. */
#pragma once

#include "agent/operate/attach/remote_memory.h"
#include "agent/operate/attach/target.h"

/* `library`: the agent's, as the target sees it; `settings`: those of the command. UNAVAILABLE: there is
 * none. Settings of the target's environment may name one, which is not checked. */
enum status cupti_ahead_check(const struct target *target, const struct remote_maps *maps,
                              const char *library, const char *settings, struct error *err) MUST_CHECK;
