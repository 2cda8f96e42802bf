/* Reads our own memory by a system call, so that memory that is not mapped, or is unmapped meanwhile, is an
 * error and not a fault. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum self_memory {
    SELF_MEMORY_READ,
    SELF_MEMORY_GONE,    /* not all of it is readable */
    SELF_MEMORY_UNKNOWN, /* no system call can tell: forbidden, or no descriptor is left */
};
enum self_memory self_memory_try(uint64_t address, void *to, size_t bytes);

/* Whether all of it was read. */
bool self_memory_read(uint64_t address, void *to, size_t bytes);

/* Copies a text with its NUL, or its first `bytes` - 1 bytes. Returns its length; -1: not readable. */
ptrdiff_t self_memory_read_text(uint64_t address, char *to, size_t bytes);
