#include "agent/encode/number.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX DBL_DECIMAL_DIG /* of a double */

static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";
static const char hex_digits[] = "0123456789abcdef";

size_t number_put_unsigned(uint8_t *to, uint64_t value)
{
    uint8_t text[NUMBER_BYTES_MAX];
    size_t at = sizeof text;
    for (; value >= 100; value /= 100)
        memcpy(text + (at -= 2), digit_pairs + 2 * (value % 100), 2);
    if (value >= 10)
        memcpy(text + (at -= 2), digit_pairs + 2 * value, 2);
    else
        text[--at] = (uint8_t)('0' + value);
    memcpy(to, text + at, sizeof text - at);
    return sizeof text - at;
}

size_t number_put_signed(uint8_t *to, int64_t value)
{
    if (value >= 0)
        return number_put_unsigned(to, (uint64_t)value);
    *to = '-';
    return 1 + number_put_unsigned(to + 1, 0 - (uint64_t)value);
}

/* Eight hexadecimal digits at once, the most significant first. The nibbles of a word are spread to bytes,
 * and each byte above 9 gets the distance from '9' + 1 to 'a'. */
static void put_hex_8(uint8_t *to, uint32_t value)
{
    uint64_t x = value;
    x = (x << 16 | x) & 0x0000ffff0000ffffu;
    x = (x << 8 | x) & 0x00ff00ff00ff00ffu;
    x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0fu;
    uint64_t letters = ((x + 0x0606060606060606u) >> 4) & 0x0101010101010101u;
    x += 0x3030303030303030u + letters * ('a' - '9' - 1);
    x = __builtin_bswap64(x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "cuspan is for little-endian machines"
#endif
    memcpy(to, &x, 8);
}

size_t number_put_pointer(uint8_t *to, uint64_t value)
{
    size_t len = number_pointer_len(value);
    value <<= 64 - 4 * (len - 2); /* moves the significant digits to the front */
    memcpy(to, "0x", 2);
    put_hex_8(to + 2, (uint32_t)(value >> 32));
    put_hex_8(to + 10, (uint32_t)value);
    return len;
}

size_t number_put_hex(uint8_t *to, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        to[2 * i] = (uint8_t)hex_digits[bytes[i] >> 4];
        to[2 * i + 1] = (uint8_t)hex_digits[bytes[i] & 15];
    }
    return 2 * len;
}

/* Sets `digits` and `exponent`: value = 0.DIGITS * 10^exponent. Returns the number of digits. 15 are enough
 * for each decimal that has no more, and 17 for each double; only below DBL_MIN doubles have less precision.
 * No text here depends on the locale's decimal point. */
static unsigned shortest_digits(double value, uint8_t digits[DIGITS_MAX], int *exponent)
{
    char text[40];
    unsigned count = value < DBL_MIN ? 1 : DBL_DIG;
    for (;; count++) {
        snprintf(text, sizeof text, "%.*e", (int)count - 1, value);
        const char *power = strchr(text, 'e');
        digits[0] = (uint8_t)text[0];
        memcpy(digits + 1, power - (count - 1), count - 1);
        *exponent = atoi(power + 1) + 1;
        snprintf(text, sizeof text, "%.*se%d", (int)count, (const char *)digits, *exponent - (int)count);
        if (count == DIGITS_MAX || strtod(text, NULL) == value)
            break;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

static size_t put_zeros(uint8_t *to, int count)
{
    if (count <= 0)
        return 0;
    memset(to, '0', (size_t)count);
    return (size_t)count;
}

/* Lays out 0.DIGITS * 10^exponent as JavaScript does: plain from 1e-6 to 1e21, otherwise with an exponent. */
static size_t lay_out(uint8_t *to, const uint8_t *digits, unsigned count, int exponent)
{
    uint8_t *p = to;
    bool plain = exponent > -6 && exponent <= 21;
    int whole = plain ? exponent : 1;
    int taken = whole < 0 ? 0 : whole < (int)count ? whole : (int)count;
    memcpy(p, digits, (size_t)taken);
    p += taken;
    p += put_zeros(p, whole <= 0 ? 1 : whole - taken);
    if (taken < (int)count) {
        *p++ = '.';
        p += put_zeros(p, -whole);
        memcpy(p, digits + taken, count - (unsigned)taken);
        p += count - (unsigned)taken;
    }
    if (!plain) {
        *p++ = 'e';
        p += number_put_signed(p, exponent - 1);
    }
    return (size_t)(p - to);
}

size_t number_put_double(uint8_t *to, double value)
{
    uint8_t digits[DIGITS_MAX];
    int exponent;
    size_t sign = signbit(value) != 0;
    if (sign)
        *to = '-';
    if (value == 0) {
        to[sign] = '0';
        return sign + 1;
    }
    unsigned count = shortest_digits(fabs(value), digits, &exponent);
    return sign + lay_out(to + sign, digits, count, exponent);
}
