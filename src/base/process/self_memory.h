/* Reads our own memory by a system call, so that memory that is not mapped, or is unmapped meanwhile, is an
 * error and not a fault. */
#ifndef CUSPAN_BASE_PROCESS_SELF_MEMORY_H
#define CUSPAN_BASE_PROCESS_SELF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: not all of it is readable. */
bool self_memory_read(uint64_t address, void *to, size_t bytes);

/* Copies a text with its NUL, or its first `bytes` - 1 bytes. Returns its length; -1: not readable. */
ptrdiff_t self_memory_read_text(uint64_t address, char *to, size_t bytes);

#endif
