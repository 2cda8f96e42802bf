/* Our own process context (OTEP 4719). Readers of thread contexts (agent/capture/context/publish.h) look for
 * those only if a process context announces them. So we publish one while our threads publish and no SDK has
 * published a process context; there should be only one. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

#include <stdint.h>

/* Publishes a copy of `resource` for this process, not for forked children. One thread calls these
 * functions. NO_MEMORY, UNAVAILABLE. */
enum status published_context_begin(const struct resource *resource) MUST_CHECK;
/* Its address; 0: none. */
uint64_t published_context_address(void);
/* Removes it, if there is one. */
void published_context_end(void);
