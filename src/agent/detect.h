/* What the agent finds out about its process: program, host, container; and the program's name for the
 * session. */
#ifndef CUSPAN_AGENT_DETECT_H
#define CUSPAN_AGENT_DETECT_H

#include "base/status.h"
#include "model/resource.h"

/* The executable's file name, for the session span and service.name; Python shows its script. Static storage.
 */
const char *detect_program(void);

/* Adds to `resource` what the user didn't set: what an SDK in the process has published, then service,
 * process, host, telemetry, and where the process runs. `driver_version` is CUDA's number (13000) or 0. What
 * can't be found out is left out. */
enum status detect_resource(struct resource *resource, int driver_version,
                            const char *cupti_version) MUST_CHECK;

#endif
