/* The resource of this process, as it is known by now: from what goes first to what goes last, what the
 * settings say, what an SDK in the process has published, what the agent has found out by itself. An SDK may
 * start long after CUDA, and change its mind: so it is looked for again. */
#ifndef CUSPAN_AGENT_OWN_RESOURCE_H
#define CUSPAN_AGENT_OWN_RESOURCE_H

#include "base/status.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

/* Finds out all that there is. `settings` has what the settings say, and all of it afterwards; it stays the
 * caller's and is not referred to later. FULL: some is left out. */
enum status process_resource_start(struct resource *settings, int driver_version,
                                   const char *cupti_version) MUST_CHECK;

/* Looks whether an SDK has published another one, now and then; the pipeline thread, at each turn. While none
 * is found, all of the process's mappings are read: after 0.2 s, then ever more seldom, at most a thousandth
 * of the time, and `meanwhile` is called in between. Once one is found, its header is read each second. True:
 * process_resource() is another now.
 *
 * While threads publish (capture/publish.h), it publishes the process's context, too, unless an SDK does. */
bool process_resource_poll(uint64_t now_ns, void (*meanwhile)(void));

/* As of the last look that returned true; before, as of the beginning. */
const struct resource *process_resource(void);

#endif
