#include "agent/export/otlp/grpc.h"

#include "support/test.h"

#include <string.h>

static void expect(const char *from, size_t bytes, const char *decoded)
{
    char text[16];
    assert_int_equal(percent_decode(text, sizeof text, from, bytes), strlen(decoded));
    assert_string_equal(text, decoded);
}

static void test_pairs_of_digits_are_bytes(void **state)
{
    expect("100%25 a%C3%A4%20", 17, "100% a\xc3\xa4 ");
    expect("a%00b", 5, "a?b");
    expect("", 0, "");
}

static void test_what_is_no_pair_stays(void **state)
{
    expect("%zz%4", 5, "%zz%4");
    expect("a%41", 3, "a%4"); /* the last digit lies beyond what may be read */
}

static void test_what_does_not_fit_is_cut(void **state)
{
    char text[4];
    assert_int_equal(percent_decode(text, sizeof text, "abc%64ef", 8), 3);
    assert_string_equal(text, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_of_digits_are_bytes),
        cmocka_unit_test(test_what_is_no_pair_stays),
        cmocka_unit_test(test_what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
