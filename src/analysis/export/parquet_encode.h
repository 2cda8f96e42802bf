/* Encodings of values in Parquet pages: https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#pragma once

#include "analysis/export/bytes.h"

#include <stdbool.h>

/* The bits that values up to `max` need. */
unsigned parquet_bit_width(uint64_t max);

/* RLE / bit-packing hybrid, for levels and indices of a dictionary: without a length in front. */
void parquet_add_hybrid(struct bytes *out, const uint32_t *values, size_t count, unsigned width);
/* The same for one value, repeated. */
void parquet_add_run(struct bytes *out, uint32_t value, size_t count, unsigned width);

/* DELTA_BINARY_PACKED. */
void parquet_add_delta(struct bytes *out, const uint64_t *values, size_t count);
