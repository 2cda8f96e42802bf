/* The output of `cuspan cdi` about a CDI file. */
#pragma once

#include "agent/operate/cdi/cdi_file.h"

/* Prints what the file just written at `path` does, and what to expect of it. */
void cdi_describe(const char *path, const struct cdi_file *file);

/* Checks the file at `path`, what it mounts, and other CDI files. Prints one line for each. Returns
 * EXIT_FAILED if there is a problem, otherwise EXIT_OK. */
int cdi_check(const char *path);
