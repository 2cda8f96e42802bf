/* Numbers as text, for JSON and for attributes that hold addresses. Nothing here asks the locale: the host
 * may have set one in which a decimal point is a comma. Each function returns how many bytes it wrote; there
 * is no NUL. */
#ifndef CUSPAN_ENCODE_NUMBER_H
#define CUSPAN_ENCODE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#define NUMBER_BYTES_MAX  20 /* of 64 bits in decimal, the sign included */
#define POINTER_BYTES_MAX 18 /* "0x" and 16 digits */
#define DOUBLE_BYTES_MAX  32

size_t number_put_unsigned(uint8_t *to, uint64_t value);
size_t number_put_signed(uint8_t *to, int64_t value);
static inline size_t number_pointer_len(uint64_t value)
{
    return value ? 2 + (67u - (unsigned)__builtin_clzll(value)) / 4 : 3;
}

/* "0x7f12ab", without leading zeros. Writes up to POINTER_BYTES_MAX bytes whatever it returns. */
size_t number_put_pointer(uint8_t *to, uint64_t value);
/* Two lower-case digits a byte. */
size_t number_put_hex(uint8_t *to, const uint8_t *bytes, size_t len);
/* The shortest decimal that reads back as the same double. Only for finite values. */
size_t number_put_double(uint8_t *to, double value);

#endif
