/* The current resource of this process. In order of precedence: the settings, the context of an
 * OpenTelemetry SDK in the process, and what the agent detects. An SDK may start after CUDA and change its
 * context, so it is polled.
 *
 * A new resource is valid from the next batch on, and the open batch is sealed at once. A trace then has
 * both resources, because spans that were sent cannot be changed. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stdint.h>

/* Detects everything, with `has_ip` the host's address, too. `settings` has the resource of the settings and
 * gets all of it; the caller owns it. FULL: some attributes are dropped. */
enum status process_resource_start(struct resource *settings, int driver_version, const char *cupti_version,
                                   bool has_ip) MUST_CHECK;

/* Called by the pipeline thread in each round. Searches for the context of an SDK in all mappings of the
 * process, first after 0.2 s, then less and less often, for at most a thousandth of the time; calls
 * `meanwhile` during the search. Once found, reads its header each second. True: process_resource() has
 * changed. If threads publish contexts (agent/capture/context/publish.h), also publishes the process context,
 * unless an SDK does. */
bool process_resource_poll(uint64_t now_ns, void (*meanwhile)(void));

/* As of the last poll that returned true, or the start. */
const struct resource *process_resource(void);
