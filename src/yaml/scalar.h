/* The scalars of YAML 1.2's core schema, independent of the host's locale. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum scalar_type { SCALAR_NULL, SCALAR_BOOL, SCALAR_INT, SCALAR_FLOAT, SCALAR_STRING };

/* The type of a plain (unquoted) scalar. */
enum scalar_type scalar_type_of(const char *text);
/* "an integer", "a string", ... */
const char *scalar_type_name(enum scalar_type type);

/* Decimal, 0o octal or 0x hexadecimal. False: not an integer, or out of range. */
bool scalar_parse_int(const char *text, int64_t *value);
/* The same without a minus sign. */
bool scalar_parse_uint(const char *text, uint64_t *value);
/* Also .inf and .nan. */
bool scalar_parse_float(const char *text, double *value);
/* true, True, TRUE, false, False, FALSE. */
bool scalar_parse_bool(const char *text, bool *value);
