/* The source lines of the functions in a cubin: its section .debug_line, which nvcc -lineinfo and Triton
 * write (DWARF 2 to 4).
 *
 * The file is untrusted: nothing outside it is read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A function by its symbol, and the line that it begins in. The texts are valid during the call. `folder` may
 * be "", and is part of the path unless `file` is absolute. */
typedef void cubin_line_fn(void *context, const char *symbol, const char *folder, const char *file,
                           uint32_t line);

void cubin_lines_visit(const uint8_t *bytes, size_t len, cubin_line_fn *take, void *context);
