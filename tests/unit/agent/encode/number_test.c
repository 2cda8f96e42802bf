#include "agent/encode/number.h"

#include "support/test.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_next(void)
{
    static uint64_t state = 20260801;
    uint64_t x = (state += 0x9e3779b97f4a7c15u);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void expect_unsigned(uint64_t value)
{
    char want[32];
    uint8_t got[NUMBER_BYTES_MAX];
    snprintf(want, sizeof want, "%" PRIu64, value);
    assert_int_equal(number_put_unsigned(got, value), strlen(want));
    assert_memory_equal(got, want, strlen(want));
    snprintf(want, sizeof want, "%" PRId64, (int64_t)value);
    assert_int_equal(number_put_signed(got, (int64_t)value), strlen(want));
    assert_memory_equal(got, want, strlen(want));
    uint8_t pointer[POINTER_BYTES_MAX];
    snprintf(want, sizeof want, "0x%" PRIx64, value);
    assert_int_equal(number_pointer_len(value), strlen(want));
    assert_int_equal(number_put_pointer(pointer, value), strlen(want));
    assert_memory_equal(pointer, want, strlen(want));
}

static void test_integers_of_every_length(void **state)
{
    expect_unsigned(0);
    for (unsigned shift = 0; shift < 64; shift++) {
        expect_unsigned(1ull << shift);
        expect_unsigned((1ull << shift) - 1);
        expect_unsigned(random_next() >> shift);
    }
    for (uint64_t ten = 1; ten < UINT64_MAX / 10; ten *= 10) {
        expect_unsigned(ten - 1);
        expect_unsigned(ten);
        expect_unsigned(0 - ten);
    }
    expect_unsigned(UINT64_MAX);
    expect_unsigned((uint64_t)INT64_MIN);
    expect_unsigned(0x0123456789abcdefu);
}

static void test_hex(void **state)
{
    uint8_t out[6];
    assert_int_equal(number_put_hex(out, (const uint8_t[]){0x00, 0xaf, 0x19}, 3), 6);
    assert_memory_equal(out, "00af19", 6);
}

static void expect_double(double value, const char *want)
{
    char got[DOUBLE_BYTES_MAX + 1];
    size_t len = number_put_double((uint8_t *)got, value);
    got[len] = '\0';
    assert_string_equal(got, want);
}

static void test_doubles_as_people_write_them(void **state)
{
    expect_double(0.0, "0");
    expect_double(-0.0, "-0");
    expect_double(1.0, "1");
    expect_double(-2.5, "-2.5");
    expect_double(0.1, "0.1");
    expect_double(0.1 + 0.2, "0.30000000000000004");
    expect_double(100.0, "100");
    expect_double(123456.789, "123456.789");
    expect_double(0.000001, "0.000001");
    expect_double(0.0000001, "1e-7");
    expect_double(1.5e-10, "1.5e-10");
    expect_double(1e20, "100000000000000000000");
    expect_double(1e21, "1e21");
    expect_double(1.7976931348623157e308, "1.7976931348623157e308");
    expect_double(2.2250738585072014e-308, "2.2250738585072014e-308");
    expect_double(5e-324, "5e-324");
    expect_double(9007199254740993.0, "9007199254740992");
    expect_double(9.5367431640625e-7,
                  "9.5367431640625e-7"); /* 2^-20: its neighbors have different distances */
    expect_double(5e22, "5e22");
    expect_double(2e23, "2e23"); /* halfway between two neighbors */
}

static unsigned digits_of(const char *text)
{
    unsigned count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '-' || *text == '.' || (*text == '0' && !count))
            continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/* Parses to the same double, and no shorter number does. */
static void check_shortest(double value)
{
    char text[DOUBLE_BYTES_MAX + 1], shorter[64];
    text[number_put_double((uint8_t *)text, value)] = '\0';
    if (strtod(text, NULL) != value)
        fail_msg("%a was written as %s", value, text);
    unsigned digits = digits_of(text);
    if (digits < 2)
        return;
    snprintf(shorter, sizeof shorter, "%.*e", (int)digits - 2, value);
    if (strtod(shorter, NULL) == value)
        fail_msg("%a was written as %s, but %s does", value, text, shorter);
}

static void test_doubles_are_shortest_and_exact(void **state)
{
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_next();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            check_shortest(value);
        check_shortest((double)(bits >> (bits & 63)) / 1000);
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        check_shortest(ldexp(1, exponent));
        check_shortest(nextafter(ldexp(1, exponent), 0));
        check_shortest(nextafter(ldexp(1, exponent), INFINITY));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_of_every_length),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_doubles_as_people_write_them),
        cmocka_unit_test(test_doubles_are_shortest_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
