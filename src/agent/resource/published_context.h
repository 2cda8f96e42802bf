/* A process context of our own (OTEP 4719): readers of the threads' contexts (capture/publish.h) look for
 * those only where one says that there are any. So there is one while our threads publish and no SDK has
 * published its own: there should be one only. */
#ifndef CUSPAN_AGENT_PUBLISHED_CONTEXT_H
#define CUSPAN_AGENT_PUBLISHED_CONTEXT_H

#include "base/status.h"
#include "model/resource.h"

#include <stdint.h>

/* Publishes `resource`, which is copied, for this process alone: a forked child has none. One thread calls
 * these functions. NO_MEMORY, UNAVAILABLE. */
enum status published_context_begin(const struct resource *resource) MUST_CHECK;
/* Where it is; 0: there is none. */
uint64_t published_context_address(void);
/* Takes it back; fine where there is none. */
void published_context_end(void);

#endif
