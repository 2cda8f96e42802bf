#include "agent/encode/number.h"

#include <stdbool.h>
#include <string.h>

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

/* Shortest digits by Steele and White's free-format algorithm on exact integers. It is slow (a microsecond)
 * and exact, and doubles are rare here. The largest number is near 2^1132 (the smallest double, scaled by
 * 10^324). */
#define BIG_LIMBS 40

struct big {
    uint32_t count; /* limbs in use; the highest is not zero */
    uint32_t limbs[BIG_LIMBS];
};

static void big_multiply(struct big *big, uint32_t factor)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < big->count; i++) {
        carry += (uint64_t)big->limbs[i] * factor;
        big->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry)
        big->limbs[big->count++] = (uint32_t)carry;
}

static void big_power_of_ten(struct big *big, int power)
{
    for (; power >= 9; power -= 9)
        big_multiply(big, 1000000000);
    for (; power > 0; power--)
        big_multiply(big, 10);
}

/* value * 2^shift */
static struct big big_make(uint64_t value, unsigned shift)
{
    struct big big = {0};
    uint32_t skipped = shift / 32;
    unsigned __int128 wide = (unsigned __int128)value << (shift % 32);
    for (big.count = skipped; wide; wide >>= 32)
        big.limbs[big.count++] = (uint32_t)wide;
    return big;
}

static int big_compare(const struct big *a, const struct big *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (uint32_t i = a->count; i-- > 0;) {
        if (a->limbs[i] != b->limbs[i])
            return a->limbs[i] < b->limbs[i] ? -1 : 1;
    }
    return 0;
}

static struct big big_sum(const struct big *a, const struct big *b)
{
    struct big sum = {0};
    uint64_t carry = 0;
    for (uint32_t i = 0; i < a->count || i < b->count || carry; i++) {
        carry += (uint64_t)a->limbs[i] + b->limbs[i];
        sum.limbs[sum.count++] = (uint32_t)carry;
        carry >>= 32;
    }
    return sum;
}

/* a -= b, where a >= b */
static void big_subtract(struct big *a, const struct big *b)
{
    int64_t borrow = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        borrow += (int64_t)a->limbs[i] - b->limbs[i];
        a->limbs[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->count && !a->limbs[a->count - 1])
        a->count--;
}

/* value = rest / scale. Numbers above value - below / scale and under value + above / scale read back as the
 * same double. */
struct shortest {
    struct big rest, scale, below, above;
    bool even;    /* the bounds read back as the same double too: ties go to even */
    int exponent; /* value = 0.DIGITS * 10^exponent */
};

static void shortest_begin(struct shortest *s, uint64_t mantissa, int exponent)
{
    /* Below a power of two, the next double is only half as far away. */
    unsigned half = mantissa == 1ull << 52 && exponent > -1074;
    unsigned up = exponent > 0 ? (unsigned)exponent : 0, down = exponent < 0 ? (unsigned)-exponent : 0;
    s->rest = big_make(mantissa, up + 1 + half);
    s->scale = big_make(1, down + 1 + half);
    s->below = big_make(1, up);
    s->above = big_make(1, up + half);
    s->even = mantissa % 2 == 0;
}

static bool reaches_one(const struct shortest *s)
{
    struct big sum = big_sum(&s->rest, &s->above);
    int order = big_compare(&sum, &s->scale);
    return s->even ? order >= 0 : order > 0;
}

/* Scales so that the first digit is the quotient of 10 * rest and scale. The estimate is at most one too low.
 */
static void shortest_scale(struct shortest *s, int top_bit)
{
    double estimate = top_bit * 0.30102999566398114 - 1e-10;
    s->exponent = (int)estimate + (estimate > 0);
    big_power_of_ten(&s->scale, s->exponent);
    big_power_of_ten(&s->rest, -s->exponent);
    big_power_of_ten(&s->below, -s->exponent);
    big_power_of_ten(&s->above, -s->exponent);
    if (reaches_one(s)) {
        big_multiply(&s->scale, 10);
        s->exponent++;
    }
}

static unsigned shortest_digits(struct shortest *s, uint8_t *digits)
{
    for (unsigned count = 0;;) {
        big_multiply(&s->rest, 10);
        big_multiply(&s->below, 10);
        big_multiply(&s->above, 10);
        uint8_t digit = 0;
        for (; big_compare(&s->rest, &s->scale) >= 0; digit++)
            big_subtract(&s->rest, &s->scale);
        int order = big_compare(&s->rest, &s->below);
        bool low = s->even ? order <= 0 : order < 0, high = reaches_one(s);
        if (low || high) {
            struct big twice = s->rest;
            big_multiply(&twice, 2);
            bool up = high && (!low || big_compare(&twice, &s->scale) > 0);
            digits[count++] = (uint8_t)('0' + digit + up);
            return count;
        }
        digits[count++] = (uint8_t)('0' + digit);
    }
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
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t sign = bits >> 63;
    if (sign)
        *to = '-';
    uint64_t mantissa = bits & ((1ull << 52) - 1);
    int biased = (int)(bits >> 52 & 2047);
    if (!mantissa && !biased) {
        to[sign] = '0';
        return sign + 1;
    }
    int exponent = (biased ? biased : 1) - 1075;
    if (biased)
        mantissa |= 1ull << 52;
    struct shortest s;
    shortest_begin(&s, mantissa, exponent);
    shortest_scale(&s, exponent + 63 - __builtin_clzll(mantissa));
    uint8_t digits[20];
    unsigned count = shortest_digits(&s, digits);
    return sign + lay_out(to + sign, digits, count, s.exponent);
}
