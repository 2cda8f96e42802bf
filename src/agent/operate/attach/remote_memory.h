/* The memory of another process: its mappings, its bytes, and the symbols of its C library. Symbols are read
 * from memory, so files that were replaced, and other mount namespaces, do not matter. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum remote_part { REMOTE_OTHER, REMOTE_LIBC, REMOTE_LOADER, REMOTE_ALLOCATOR, REMOTE_VDSO };

struct remote_mapping {
    uint64_t start, end;
    char *name; /* path, "[stack]" or "" */
    bool is_code, is_writable;
    enum remote_part part;
};

struct remote_maps {
    struct remote_mapping *items;
    size_t count, capacity;
};

/* Reads /proc/PID/maps. False: it has no line. */
bool remote_maps_read(struct remote_maps *maps, FILE *file);
void remote_maps_deinit(struct remote_maps *maps);
const struct remote_mapping *remote_maps_at(const struct remote_maps *maps, uint64_t address);
/* The first mapping whose file has this start of its name; NULL: none. */
const struct remote_mapping *remote_maps_find(const struct remote_maps *maps, const char *file);
/* The file's name without its folders. */
const char *remote_file_name(const char *path);

/* All bytes or false. */
bool remote_read(pid_t process, uint64_t at, void *to, size_t bytes);
bool remote_write(pid_t process, uint64_t at, const void *from, size_t bytes);

/* The address of a function of the C library; 0: it has none. */
uint64_t remote_symbol(pid_t process, const struct remote_maps *maps, const char *name);
/* The address of bytes in executable mappings of this part; 0: there are none. */
uint64_t remote_find_code(pid_t process, const struct remote_maps *maps, enum remote_part part,
                          const uint8_t *bytes, size_t count);
