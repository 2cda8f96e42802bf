#include "base/text/json_writer.h"

#include "support/test.h"

#include <string.h>

static void test_commas_between_members_and_elements(void **state)
{
    char text[200];
    FILE *file = fmemopen(text, sizeof text, "w");
    struct json_writer writer = JSON_WRITER(file);
    json_write_object(&writer, NULL);
    json_write_unsigned(&writer, "a", UINT64_MAX);
    json_write_array(&writer, "b");
    json_write_signed(&writer, NULL, INT64_MIN);
    json_write_bool(&writer, NULL, true);
    json_write_object(&writer, NULL);
    json_write_object_end(&writer);
    json_write_array_end(&writer);
    json_write_object(&writer, "c");
    json_write_ms(&writer, "d", 1234567);
    json_write_object_end(&writer);
    json_write_bool(&writer, "e", false);
    json_write_object_end(&writer);
    fclose(file);
    assert_string_equal(text, "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,true,{}],"
                              "\"c\":{\"d\":1.235},\"e\":false}");
}

static void test_text_is_escaped(void **state)
{
    char text[100];
    FILE *file = fmemopen(text, sizeof text, "w");
    struct json_writer writer = JSON_WRITER(file);
    json_write_text(&writer, NULL, "a\"b\\c\n\x01\x7f\xc3\xa9\xc3");
    json_write_text(&writer, NULL, "");
    fclose(file);
    assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\xc3\xa9\xef\xbf\xbd\",\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commas_between_members_and_elements),
        cmocka_unit_test(test_text_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
