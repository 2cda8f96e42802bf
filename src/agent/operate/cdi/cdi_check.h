/* The output of `cuspan cdi` about a CDI file. */
#pragma once

#include "agent/operate/cdi/cdi_file.h"

#include <stdbool.h>

/* Prints what the file just written at `path` does, and what to expect of it. */
void cdi_describe(const char *path, const struct cdi_file *file);

/* Checks the file at `path`, what it mounts, and other CDI files. Prints one line for each. Returns
 * EXIT_FAILED if there is a problem, otherwise EXIT_OK. */
int cdi_check(const char *path);

/* The newest glibc version that a program or library requires, such as "2.28". False: it requires none. */
bool cdi_glibc_needed(const char *path, char version[16]);

/* Whether SELinux lets containers read a file with this label. Types of /usr, /opt and containers are known.
 */
bool cdi_label_is_allowed(const char *label);
