/* The output of `cuspan cdi write`. */
#pragma once

#include "agent/operate/cdi/cdi_file.h"

#include <stdbool.h>

/* Prints what the file just written at `path` does, and what to expect of it. */
void cdi_describe(const char *path, const struct cdi_file *file);

/* Whether SELinux lets containers read a file with this label. Types of /usr, /opt and containers are known.
 */
bool cdi_label_is_allowed(const char *label);
