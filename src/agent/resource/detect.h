/* What the agent finds out about its process: program, host, container; and the program's name for the
 * session. */
#ifndef CUSPAN_AGENT_DETECT_H
#define CUSPAN_AGENT_DETECT_H

#include "base/status.h"
#include "model/resource.h"

#include <sys/types.h>

/* The executable's file name, for the session span and service.name; Python shows its script, and
 * multiprocessing's children that of their parent. Static storage. */
const char *detect_program(void);

/* Adds to `resource` what it lacks: service, process, host, telemetry, and where the process runs.
 * `driver_version` is CUDA's number (13000) or 0. What can't be found out is left out. */
enum status detect_resource(struct resource *resource, int driver_version,
                            const char *cupti_version) MUST_CHECK;

/* Adds where the device with this resource's UUID is on the PCI bus, if the driver of this machine has it:
 * what is replayed may come from another. `folder` is DETECT_GPUS_FOLDER. */
#define DETECT_GPUS_FOLDER "/proc/driver/nvidia/gpus"
enum status detect_device(struct resource *resource, const char *folder) MUST_CHECK;
/* Both for a command that `cuspan run` has run, and that is no agent's process: its name by its arguments
 * (static storage), and what is known of it from outside. */
const char *detect_command(char *const *argv);
enum status detect_command_resource(struct resource *resource, const char *program, pid_t pid) MUST_CHECK;

#endif
