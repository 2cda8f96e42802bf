/* Where the agents' control sockets lie, for the agent that makes one and the command line that asks it: a
 * folder of the user's own, and in it PID.sock. */
#ifndef CUSPAN_BASE_CONTROL_PATH_H
#define CUSPAN_BASE_CONTROL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTROL_PLACES_MAX    3
#define CONTROL_PATH_BYTES    256
#define CONTROL_SUFFIX        ".sock"
#define CONTROL_REQUEST_BYTES 256         /* one line: a verb and what it needs */
#define CONTROL_ANSWER_BYTES  (64 * 1024) /* one line of JSON */

/* Folders, the one that goes first at first: the one that is set alone, else those of the user's runtime
 * directory and of /tmp. `set` and `runtime_directory` (XDG_RUNTIME_DIR) may be NULL. Returns how many. */
size_t control_path_list(const char *set, const char *runtime_directory, uid_t user,
                         char (*places)[CONTROL_PATH_BYTES]);

/* Opens a folder, which with `make` is made if need be (0700). -1 with errno: EPERM for one that isn't
 * `owner`'s or that others can write, ENOTDIR or ELOOP for what is no folder, links included. */
int control_path_open_folder(const char *path, uid_t owner, bool make);

/* A socket, connected to or bound at a name in a folder without following links, however long the folder's
 * path is. Non-blocking, closed on exec; a bound one has mode 0600. -1 with errno. */
int control_path_connect(int folder, const char *folder_path, const char *name);
int control_path_bind(int folder, const char *folder_path, const char *name);

#endif
