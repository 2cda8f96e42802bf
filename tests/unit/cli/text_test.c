#include "cli/util/text.h"

#include "support/test.h"

#include <locale.h>
#include <stdlib.h>

static void test_durations_have_three_digits_and_a_unit(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ns"},
        {812, "812 ns"},
        {999, "999 ns"},
        {1000, "1.00 µs"},
        {41349, "41.3 µs"},
        {999499, "999 µs"},
        {999500, "1.00 ms"},
        {9994999, "9.99 ms"},
        {9996000, "10.0 ms"},
        {128400000, "128 ms"},
        {999500000, "1.00 s"},
        {3250000000, "3.25 s"},
        {1234000000000, "1234 s"},
    };
    char out[TEXT_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_duration(out, cases[i].ns, true), cases[i].text);
    assert_string_equal(text_duration(out, 41349, false), "41.3 us");
    text_duration(out, UINT64_MAX, true);
}

static void test_bytes_counts_and_shares(void **state)
{
    char out[TEXT_NUMBER_BYTES];
    assert_string_equal(text_bytes(out, 0), "0 B");
    assert_string_equal(text_bytes(out, 1023), "1023 B");
    assert_string_equal(text_bytes(out, 4096), "4 KiB");
    assert_string_equal(text_bytes(out, 1572864), "1.5 MiB");
    assert_string_equal(text_bytes(out, UINT64_MAX), "16 EiB");
    assert_string_equal(text_count(out, 7), "7");
    assert_string_equal(text_count(out, 999), "999");
    assert_string_equal(text_count(out, 12345), "12,345");
    assert_string_equal(text_count(out, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(text_share(out, 0, 0), "0 %");
    assert_string_equal(text_share(out, 1, 3), "33 %");
    assert_string_equal(text_share(out, 25, 1000), "2.5 %");
    assert_string_equal(text_share(out, 5, 10000), "0.05 %");
    assert_string_equal(text_share(out, 7, 7), "100 %");
}

static void check_fitted(const char *string, size_t columns, const char *expected, size_t used)
{
    struct text text = {0};
    text_clear(&text);
    assert_int_equal(text_add_fitted(&text, string, columns, true), used);
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_long_names_are_cut_in_whole_characters(void **state)
{
    check_fitted("kernel", 6, "kernel", 6);
    check_fitted("kernel", 5, "kern…", 5);
    check_fitted("kernel", 1, "…", 1);
    check_fitted("kernel", 0, "", 0);
    check_fitted("行列積", 6, "行列積", 6);
    check_fitted("行列積", 5, "行列…", 5);
    check_fitted("行列積", 4, "行…", 3); /* half a wide character does not fit */
    check_fitted("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", 3);
    check_fitted("e\u0301e\u0301e\u0301", 2, "e\u0301…", 2);
}

static void test_nothing_foreign_reaches_the_terminal(void **state)
{
    check_fitted("a\x1b[31mb\r\n\x7f", 20, "a?[31mb???", 10);
    check_fitted("a\xc2\x9b"
                 "31m",
                 20, "a?31m", 5);                       /* a C1 control character */
    check_fitted("\u202edesrever", 20, "?desrever", 9); /* reverses the text direction */
    check_fitted("a\xff\xc3(b", 20, "a\ufffd\ufffd(b", 5);
    struct text text = {0};
    text_clear(&text);
    assert_int_equal(text_add_fitted(&text, "行列積_k", 20, false), 5);
    assert_string_equal(text.data, "???_k");
    text_clear(&text);
    assert_int_equal(text_add_fitted(&text, "long_name", 5, false), 5);
    assert_string_equal(text.data, "lo...");
    text_deinit(&text);
}

static void test_json_is_escaped_and_valid(void **state)
{
    struct text text = {0};
    struct json_writer json = JSON_TEXT(&text);
    json_write_object(&json, NULL);
    json_write_text(&json, "\n", "a\"b\\c\x01 é 😀 \xed\xa0\x80");
    json_write_key(&json, "k\0", 2);
    json_write_bytes(&json, NULL, "\0", 1);
    json_write_space(&json, "\n");
    json_write_raw(&json, "r", "[1]", 3);
    json_write_object_end(&json);
    assert_string_equal(
        text.data,
        "{\"\\u000a\":\"a\\\"b\\\\c\\u0001 é 😀 \ufffd\ufffd\ufffd\",\"k\\u0000\":\"\\u0000\",\n\"r\":[1]}");
    text_deinit(&text);
}

static void test_overlong_and_truncated_sequences_are_replaced(void **state)
{
    const char *bad[] = {"\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = bad[i];
        assert_int_equal(text_next_char(&at), 0xfffd);
        assert_ptr_equal(at, bad[i] + 1);
    }
    const char *good = "\xf0\x9f\x98\x80";
    assert_int_equal(text_next_char(&good), 0x1f600);
    assert_int_equal(*good, 0);
}

static void test_the_end_of_a_file(void **state)
{
    FILE *file = tmpfile();
    assert_int_equal(fwrite("first\0last", 1, 10, file), 10);
    char *whole = text_read_end(file, 100), *end = text_read_end(file, 5);
    assert_string_equal(whole, "first?last");
    assert_string_equal(end, "?last");
    free(whole);
    free(end);
    fclose(file);
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_end_of_a_file),
        cmocka_unit_test(test_durations_have_three_digits_and_a_unit),
        cmocka_unit_test(test_bytes_counts_and_shares),
        cmocka_unit_test(test_long_names_are_cut_in_whole_characters),
        cmocka_unit_test(test_nothing_foreign_reaches_the_terminal),
        cmocka_unit_test(test_json_is_escaped_and_valid),
        cmocka_unit_test(test_overlong_and_truncated_sequences_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
