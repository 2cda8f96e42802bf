/* Shared by the fuzzers: a check that ends the run if it fails, and inputs in parts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* The part up to the next 0xff, which no text contains, or up to the end: a copy of exactly its size and a
 * NUL, so that a sanitizer detects reads beyond it. The caller frees it. */
static inline char *fuzz_part(const uint8_t **data, size_t *size, size_t *bytes)
{
    const uint8_t *end = *size ? memchr(*data, 0xff, *size) : NULL;
    *bytes = end ? (size_t)(end - *data) : *size;
    char *part = malloc(*bytes + 1);
    require(part != NULL, "no memory");
    if (*bytes > 0)
        memcpy(part, *data, *bytes);
    part[*bytes] = '\0';
    size_t used = *bytes + (end ? 1 : 0);
    *data += used;
    *size -= used;
    return part;
}

/* Takes numbers from the front of an input; 0 when it is used up. */
struct fuzz_bytes {
    const uint8_t *at, *end;
};

static inline uint64_t fuzz_number(struct fuzz_bytes *from, size_t bytes)
{
    uint64_t value = 0;
    size_t left = (size_t)(from->end - from->at);
    bytes = bytes < left ? bytes : left;
    if (bytes > 0)
        memcpy(&value, from->at, bytes);
    from->at += bytes;
    return value;
}
