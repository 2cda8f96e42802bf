/* The agent's files as a container gets them: who can read them, and what they need from the container. */
#pragma once

#include <stdbool.h>

/* The file or folder on the way to `path` that not every user can read or enter; allocated. NULL: all can, or
 * `path` does not exist. */
char *cdi_unreadable(const char *path);

/* The newest glibc version that a program or library requires, such as "2.28". False: it requires none. */
bool cdi_glibc_needed(const char *path, char version[16]);

/* Whether SELinux lets containers read a file with this label. Types of /usr, /opt and containers are known.
 */
bool cdi_label_is_allowed(const char *label);
