/* The files that the operands of a command name. */
#ifndef CUSPAN_CLI_TRACE_TRACE_FILES_H
#define CUSPAN_CLI_TRACE_TRACE_FILES_H

#include "base/status.h"

#include <stddef.h>

struct trace_files {
    char **paths;
    size_t count, capacity;
};

/* Adds a file, the files of a folder in alphabetical order (without hidden ones), or those that match a
 * pattern. A zeroed set is empty. NOT_FOUND: there are none. */
enum status trace_files_add(struct trace_files *files, const char *path, struct error *err) MUST_CHECK;
void trace_files_deinit(struct trace_files *files);

#endif
