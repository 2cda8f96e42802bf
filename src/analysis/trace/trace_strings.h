/* The strings of a trace, each stored once. A string's number is its distance from `bytes`, which never
 * moves.
 *
 * Long-lived strings (names, keys, values that repeat) stay until the end. Local ones (addresses, digits)
 * belong to one segment and are dropped with it, so that memory stays bounded. They are in one reserved range
 * of addresses: long-lived ones in its first three quarters. */
#pragma once

#include "cli/util/int_map.h"

#include <stddef.h>
#include <stdint.h>

struct trace_strings_part {
    uint64_t begin, end, limit; /* distances from `bytes` */
    uint64_t usable;            /* writable up to here */
    struct int_map map;         /* hash → number */
};

struct trace_strings {
    char *bytes; /* NUL-terminated strings; number 0 is "" */
    uint64_t reserved;
    struct trace_strings_part kept, local;
};

/* Exits with an error line if memory is exhausted, like xcalloc(). */
struct trace_strings *trace_strings_create(void);
void trace_strings_destroy(struct trace_strings *strings);

/* `text` needs no NUL at its end, and ends at one inside. MAP_NONE: no such string. */
uint32_t trace_strings_find(const struct trace_strings *strings, const char *text, size_t len);
/* Only among the long-lived ones. */
uint32_t trace_strings_find_kept(const struct trace_strings *strings, const char *text, size_t len);
uint32_t trace_strings_add(struct trace_strings *strings, const char *text, size_t len);
/* A string that only this segment needs, unless it is already a long-lived one. */
uint32_t trace_strings_add_local(struct trace_strings *strings, const char *text, size_t len);
void trace_strings_drop_local(struct trace_strings *strings);
