/* The current resource of this process. In order of precedence: the settings, the context of an
 * OpenTelemetry SDK in the process, and what the agent detects. An SDK may start after CUDA and change its
 * context, so it is polled. */
#ifndef CUSPAN_AGENT_RESOURCE_PROCESS_RESOURCE_H
#define CUSPAN_AGENT_RESOURCE_PROCESS_RESOURCE_H

#include "base/status.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

/* Detects everything. `settings` has the resource of the settings and gets all of it; the caller owns it.
 * FULL: some attributes are dropped. */
enum status process_resource_start(struct resource *settings, int driver_version,
                                   const char *cupti_version) MUST_CHECK;

/* Looks whether an SDK has published another one, now and then; the pipeline thread, at each turn. While none
 * is found, all of the process's mappings are read: after 0.2 s, then ever more seldom, at most a thousandth
 * of the time, and `meanwhile` is called in between. Once one is found, its header is read each second. True:
 * process_resource() is another now.
 *
 * While threads publish (capture/publish.h), it publishes the process's context, too, unless an SDK does. */
bool process_resource_poll(uint64_t now_ns, void (*meanwhile)(void));

/* As of the last poll that returned true, or the start. */
const struct resource *process_resource(void);

#endif
