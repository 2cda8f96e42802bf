/* The distinct values of a column chunk, in Parquet's PLAIN encoding. */
#pragma once

#include "analysis/export/bytes.h"
#include "cli/util/int_map.h"

#include <stdbool.h>

struct dictionary {
    struct bytes plain;
    size_t count;
    struct dictionary_entry {
        uint64_t hash;
        size_t at; /* in `plain` */
    } * entries;
    size_t entry_capacity;
    uint32_t *slots;         /* a hash table of indices in `entries`; MAP_NONE: empty */
    size_t slot_count;       /* a power of two, or 0 */
    struct int_map known[4]; /* for the caller: its own keys of values → their indices */
    size_t replaced;         /* texts that were not UTF-8, since the start */
    struct bytes clean;
};

void dictionary_deinit(struct dictionary *dictionary);
/* Keeps the memory and `replaced`. */
void dictionary_clear(struct dictionary *dictionary);

/* Their indices. A text that is not UTF-8 gets U+FFFD for each wrong byte. */
uint32_t dictionary_add_text(struct dictionary *dictionary, const char *text, size_t len);
/* All values of a dictionary have the same length. */
uint32_t dictionary_add_fixed(struct dictionary *dictionary, const void *value, size_t len);

/* Whether all bytes are UTF-8. */
bool dictionary_is_utf8(const char *text, size_t len);
