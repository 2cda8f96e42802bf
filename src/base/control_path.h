/* The paths of control sockets, for the agent that creates one and the CLI that connects to it: PID.sock in a
 * directory of the user. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTROL_PLACES_MAX    3
#define CONTROL_PATH_BYTES    256
#define CONTROL_SUFFIX        ".sock"
#define CONTROL_REQUEST_BYTES 256         /* one line: a verb and its argument */
#define CONTROL_ANSWER_BYTES  (64 * 1024) /* one line of JSON */

/* The directories by precedence: only `set`, or else those in the user's runtime directory and in /tmp. `set`
 * and `runtime_directory` (XDG_RUNTIME_DIR) may be NULL. Returns their number. */
size_t control_path_list(const char *set, const char *runtime_directory, uid_t user,
                         char (*places)[CONTROL_PATH_BYTES]);

/* Opens a directory; with `make`, creates it if it does not exist (mode 0700). -1 with errno: EPERM if it
 * does not belong to `owner` or others can write to it, ENOTDIR or ELOOP if it is not a directory or is a
 * link. */
int control_path_open_folder(const char *path, uid_t owner, bool make);

/* A socket that is connected to, or bound at, a name in a directory, without following links and whatever the
 * length of the path. Non-blocking and close-on-exec; a bound one has mode 0600. -1 with errno. */
int control_path_connect(int folder, const char *folder_path, const char *name);
int control_path_bind(int folder, const char *folder_path, const char *name);
