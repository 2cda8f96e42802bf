/* Detects program, host and container of this process, the program name for the session, and other tools. */
#pragma once

#include "base/status.h"
#include "model/resource.h"

#include <stdbool.h>
#include <stddef.h>
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

/* The address by which this host is known on its network: that of the interface with the default route, or
 * with the first route; IPv4 if there is one. Sends nothing and resolves no name. Without a network:
 * 127.0.0.1. `root` is the prefix of /proc, "" except in tests. */
#define HOST_ADDRESS_BYTES 46 /* INET6_ADDRSTRLEN */
void host_address(const char *root, char address[HOST_ADDRESS_BYTES]);

/* Whether this process was started under a tool of NVIDIA that needs CUPTI for itself. The agent then logs
 * one line and loads nothing. `text` gets the tool and how it was detected. */
bool nvidia_tools_present(char *text, size_t size);
