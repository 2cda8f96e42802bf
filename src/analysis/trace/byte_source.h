/* The bytes of a file, decompressed if it is compressed by gzip or zstd as a whole. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_source;

/* `fd` stays the caller's; `name` is its name in errors. */
enum status byte_source_create(int fd, const char *name, struct byte_source **source,
                               struct error *err) MUST_CHECK;
void byte_source_destroy(struct byte_source *source);

/* *got is 0 only at the end, which damage of the compressed data is, too. Errors: IO. */
enum status byte_source_read(struct byte_source *source, char *bytes, size_t capacity, size_t *got,
                             struct error *err) MUST_CHECK;
/* At the end: what is wrong with the compressed data, or NULL. */
const char *byte_source_damage(const struct byte_source *source);
/* It ends early, and was right up to there. */
bool byte_source_is_cut(const struct byte_source *source);
bool byte_source_is_packed(const struct byte_source *source);
/* Of the file, for showing progress. */
uint64_t byte_source_read_bytes(const struct byte_source *source);
