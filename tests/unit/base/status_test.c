#include "base/status.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

static void test_each_status_has_a_text(void **state)
{
    for (int i = STATUS_OK; i <= STATUS_END; i++) {
        assert_true(strlen(status_text((enum status)i)) > 0);
        assert_string_not_equal(status_text((enum status)i), "unknown status");
        for (int j = STATUS_OK; j < i; j++)
            assert_string_not_equal(status_text((enum status)i), status_text((enum status)j));
    }
    assert_string_equal(status_text((enum status)99), "unknown status");
}

static void test_an_error_keeps_status_and_text(void **state)
{
    struct error err;
    assert_int_equal(error_set(&err, STATUS_INVALID, "line %d: %s", 3, "wrong"), STATUS_INVALID);
    assert_string_equal(err.text, "line 3: wrong");
    (void)error_set(&err, STATUS_NOT_FOUND, "%s: missing", "a\033[2J\nb");
    assert_string_equal(err.text, "a?[2J?b: missing");
    assert_int_equal(error_set(NULL, STATUS_IO, "nobody asks"), STATUS_IO);
}

static void test_a_long_text_is_cut(void **state)
{
    struct {
        struct error err;
        char behind;
    } s = {.behind = 'x'};
    char text[ERROR_TEXT_MAX * 2];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    assert_int_equal(error_set(&s.err, STATUS_CORRUPT, "%s", text), STATUS_CORRUPT);
    assert_int_equal(strlen(s.err.text), ERROR_TEXT_MAX - 1);
    assert_int_equal(s.behind, 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_status_has_a_text),
        cmocka_unit_test(test_an_error_keeps_status_and_text),
        cmocka_unit_test(test_a_long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
