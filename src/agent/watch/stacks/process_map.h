/* The files and executable memory that are mapped in the own process, from /proc/self/maps and the headers of
 * loaded files in memory. dl_iterate_phdr() would wait for a thread that hangs inside the loader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_RANGES_MAX    2048
#define MAP_LIBRARIES_MAX 1024
#define MAP_NAME_BYTES    (32 * 1024)
#define MAP_SYMBOLS_READ  512 /* at once */

/* A loaded file of ELF. */
struct map_library {
    uint64_t base; /* where its first byte is mapped */
    uint32_t name; /* without folders; an offset in the map's names */
    bool is_read;  /* the following is set */
    bool is_elf;
    uint64_t bias;                     /* from addresses in the file to those in memory */
    uint64_t unwind;                   /* address of .eh_frame_hdr; 0: none */
    uint64_t symbols, strings, hashes; /* addresses of .dynsym, .dynstr and .gnu.hash; 0: none */
    uint64_t string_bytes;
};

struct process_map {
    uint32_t range_count, library_count, name_bytes;
    struct map_range {
        uint64_t begin, end;
        uint32_t library;     /* MAP_LIBRARIES_MAX: none */
    } ranges[MAP_RANGES_MAX]; /* executable memory, by address */
    struct map_library libraries[MAP_LIBRARIES_MAX];
    char names[MAP_NAME_BYTES];
    char lines[8192]; /* of the file */
};

/* Reads the map. Libraries and ranges beyond the limits are left out. */
void process_map_read(struct process_map *map);

/* Adds one line of /proc/self/maps, NUL-terminated, to an empty map or behind the line before it. */
void process_map_add(struct process_map *map, char *line);

/* Returns the executable range of an address; NULL: there is none. */
const struct map_range *process_map_find(const struct process_map *map, uint64_t address);

/* Returns the library with its headers read; NULL: it is not readable as ELF. */
const struct map_library *process_map_library(struct process_map *map, uint32_t number);

/* Returns the address of a dynamic symbol that the library defines; 0: it defines none of that name. */
uint64_t process_map_symbol(const struct map_library *library, const char *name);

/* Calls `visit` for each dynamic symbol of a function in the library, with its address, size, and where its
 * name is. `budget` is the number of bytes that may be read, and is reduced. */
void process_map_functions(const struct map_library *library, uint64_t *budget,
                           void (*visit)(void *context, uint64_t address, uint64_t size, uint64_t name),
                           void *context);
