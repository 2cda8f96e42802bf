/* Containers of processes, and the agent's files in them. */
#pragma once

#include "agent/operate/attach/target.h"

#define CONTAINER_ID_BYTES 65

/* The ID in a text of /proc/PID/cgroup: the first 64 hexadecimal digits, because those behind them may be of
 * a group that the container has made itself. Empty: it is in no container. */
void container_find_id(const char *cgroup, char id[CONTAINER_ID_BYTES]);

/* Whether a container is meant by the start of its ID (at least 4 digits), by Docker's name, or by a name of
 * Kubernetes: POD, CONTAINER or POD/CONTAINER. `root` has the files of both, and is "" but in tests. */
bool container_is_named(const char *root, const char *id, const char *name);

/* The folder for the agent's files in a container's root. */
#define CONTAINER_FOLDER ".cuspan-" CUSPAN_VERSION

/* Copies the agent's files from a folder into that folder, unless it is there. The container's processes may
 * plant links and mounts meanwhile, which are not followed. UNAVAILABLE: it cannot be written. */
enum status container_copy(int root, const char *from, struct error *err) MUST_CHECK;
