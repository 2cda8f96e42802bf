/* The distinct values of a column chunk, in Parquet's PLAIN encoding. */
#pragma once

#include "analysis/export/bytes.h"
#include "cli/util/int_map.h"

#define DICTIONARY_TEXT  4 /* a text's length is in front of it */
#define DICTIONARY_FIXED 0

struct dictionary {
    struct bytes plain;
    size_t count;
    size_t *places; /* of the values in `plain` */
    size_t place_capacity;
    struct int_map by_hash;  /* hash of a value → its index */
    struct int_map known[3]; /* for the caller: its own keys of values → their indices */
};

void dictionary_deinit(struct dictionary *dictionary);
/* Keeps the memory. */
void dictionary_clear(struct dictionary *dictionary);

/* Its index. All values of a dictionary have the same `prefix`, DICTIONARY_TEXT or DICTIONARY_FIXED, and
 * fixed ones the same length. Readers of OTLP have made texts valid UTF-8. */
uint32_t dictionary_add(struct dictionary *dictionary, const void *value, size_t len, size_t prefix);
