/* Detects program, host and container of this process, and the program name for the session. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

#include <sys/types.h>

/* The file name of the executable, for the session span and service.name. For Python it is the script, and
 * children of multiprocessing have the name of their parent. Static storage. */
const char *detect_program(void);

/* Adds the attributes that `resource` lacks: service, process, host, telemetry and deployment.
 * `driver_version` is CUDA's number (13000) or 0. Unknown attributes are omitted. */
enum status detect_resource(struct resource *resource, int driver_version,
                            const char *cupti_version) MUST_CHECK;

/* Adds the host's address, if `resource` lacks it. */
enum status detect_ip(struct resource *resource) MUST_CHECK;

/* Adds the PCI address of the device with this resource's UUID, if the driver of this machine knows the
 * device; a replayed one may be of another machine. `folder` is DETECT_GPUS_FOLDER. */
#define DETECT_GPUS_FOLDER "/proc/driver/nvidia/gpus"
enum status detect_device(struct resource *resource, const char *folder) MUST_CHECK;
/* Both are for a command of `cuspan run`, not for this process: its name from the arguments (static
 * storage), and what is known from outside. */
const char *detect_command(char *const *argv);
enum status detect_command_resource(struct resource *resource, const char *program, pid_t pid) MUST_CHECK;
