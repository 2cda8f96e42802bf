/* The files that the operands of a command name. */
#pragma once

#include "base/status.h"
#include "analysis/trace/trace_facts.h"

#include <stddef.h>

struct trace_files {
    char **paths;
    size_t count, capacity;
    struct trace_note left_out; /* for struct trace_facts */
};

/* Adds a file, the files of a folder in alphabetical order (without hidden ones), or those that match a
 * pattern and those of the folders that do. Opening a pipe could wait forever, so one is added only if `path`
 * itself names it. A zeroed set is empty. NOT_FOUND: there are none. */
enum status trace_files_add(struct trace_files *files, const char *path, struct error *err) MUST_CHECK;
void trace_files_deinit(struct trace_files *files);
