/* Shortens paths of source files for display: relative to their package or to the working directory. Opens no
 * file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct code_path {
    const char *shown; /* part of the given path, not NUL-terminated */
    size_t bytes;
    bool is_programs; /* the program's own code: not a package's, the standard library's, nor generated */
    bool is_callers;  /* text that was executed, such as "<string>": it belongs to its caller */
};

/* Remembers the working directory. `full`: paths are shown as they are. */
void code_paths_start(bool full);

/* Returns the part of `path`, which has `bytes` bytes, to show. Takes no lock, allocates nothing. */
struct code_path code_path_of(const char *path, size_t bytes);
