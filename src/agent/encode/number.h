/* Numbers as text, for JSON and for attributes that hold addresses. Independent of the locale: the host may
 * have set one in which a decimal point is a comma. Each function returns the number of bytes written; there
 * is no NUL. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NUMBER_BYTES_MAX  20 /* of 64 bits in decimal, including the sign */
#define POINTER_BYTES_MAX 18 /* "0x" and 16 digits */
#define DOUBLE_BYTES_MAX  32

size_t number_put_unsigned(uint8_t *to, uint64_t value);
size_t number_put_signed(uint8_t *to, int64_t value);
static inline size_t number_pointer_len(uint64_t value)
{
    return value ? 2 + (67u - (unsigned)__builtin_clzll(value)) / 4 : 3;
}

/* "0x7f12ab", without leading zeros. May write up to POINTER_BYTES_MAX bytes, whatever it returns. */
size_t number_put_pointer(uint8_t *to, uint64_t value);
/* Two lower-case digits per byte. */
size_t number_put_hex(uint8_t *to, const uint8_t *bytes, size_t len);
/* The shortest decimal that reads back as the same double. For finite values only. */
size_t number_put_double(uint8_t *to, double value);
