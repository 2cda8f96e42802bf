/* Writes Parquet files: flat columns and maps from strings to strings, in row groups of column chunks with
 * one page each, compressed by zstd. docs/fleet-schema.md says what cuspan stores in them.
 *
 * The format: https://parquet.apache.org/docs/file-format/, its footer: parquet.thrift in the compact
 * protocol. Pages are of version 1, which every reader knows.
 *
 * It is our own code because Debian has no C library for Parquet, and the one that exists (carquet, 500 kB)
 * does not fit into the agent's image. */
#pragma once

#include "base/status.h"
#include "analysis/export/bytes.h"
#include "model/entries/root_span_entry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parquet_type {
    PARQUET_INT64,
    PARQUET_UINT64,
    PARQUET_STRING,
    PARQUET_ID,       /* 16 bytes */
    PARQUET_MAP_KEY,  /* strings of a map, which is named like the column; the next column has its values */
    PARQUET_MAP_VALUE /* strings */
};

#define PARQUET_ID_BYTES 16

/* A leaf of the schema. */
struct parquet_column {
    const char *name;
    enum parquet_type type;
    bool is_optional; /* never for maps */
};

struct parquet_pair {
    const char *key, *value;
};

struct parquet_schema {
    const struct parquet_column *columns;
    size_t column_count;
    size_t sorted_by; /* the column by which the rows are in order; SIZE_MAX: none */
    const struct parquet_pair *metadata;
    size_t metadata_count;
};

/* The values of a column in a row group. */
struct parquet_chunk {
    /* In dictionary form: distinct values as Parquet's PLAIN encoding, and an index per value. Otherwise
     * `numbers` has the values. */
    const struct bytes *dictionary; /* NULL: none */
    size_t dictionary_count;
    const uint32_t *indices;
    const uint64_t *numbers;
    size_t count; /* of values, without nulls */
    /* One per row, 0: null; NULL: there are no nulls or, if count is 0, only nulls. In a map: one per entry
     * or empty row, 0: the row is empty. */
    const uint32_t *defined;
    const uint32_t *repeated; /* in a map: 1: the entry belongs to the row of the one before */
    size_t level_count;       /* of `defined` and `repeated`; elsewhere the rows */
};

struct parquet_file;

/* `fd` is empty and stays the caller's. `schema` must outlive the file. `zstd`: NULL: without compression. */
struct parquet_file *parquet_create(int fd, const struct parquet_schema *schema, const struct zstd_api *zstd);
void parquet_destroy(struct parquet_file *file);

/* A row group: one chunk of each column, in order. Errors: IO. */
enum status parquet_add_chunk(struct parquet_file *file, const struct parquet_chunk *chunk,
                              struct error *err) MUST_CHECK;
void parquet_end_group(struct parquet_file *file, size_t rows);
/* Writes the footer. */
enum status parquet_finish(struct parquet_file *file, struct error *err) MUST_CHECK;
/* Written so far. */
uint64_t parquet_bytes(const struct parquet_file *file);
