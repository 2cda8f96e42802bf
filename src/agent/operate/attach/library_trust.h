/* Whether the agent's library may be loaded into a target: the target must see it at its path, and nobody but
 * root and the target's user may be able to replace it. */
#pragma once

#include "agent/operate/attach/target.h"

/* Resolves the path below /proc/PID/root, without following links, because a container may have planted some.
 * NOT_FOUND, or UNAVAILABLE if others could change the file or a folder above it. */
enum status library_trust_check(const struct target *target, const char *path, struct error *err) MUST_CHECK;

/* The same below an open folder, for a user, and the root of the user namespace, or 0. */
enum status library_trust_check_below(int root, const char *path, uid_t user, uid_t owner,
                                      struct error *err) MUST_CHECK;
