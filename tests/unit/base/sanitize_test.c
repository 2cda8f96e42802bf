#include "base/text/sanitize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char *line(const char *from)
{
    static char to[64];
    return sanitize_line(to, sizeof to, from, strlen(from));
}

static void test_a_message_becomes_one_line(void **state)
{
    assert_string_equal(line("plain"), "plain");
    assert_string_equal(line("  two\r\n\tlines \n"), "two lines");
    assert_string_equal(line(""), "");
    assert_string_equal(line("größe 日本 🙂"), "größe 日本 🙂");
}

static void test_nothing_reaches_the_terminal_but_text(void **state)
{
    assert_string_equal(line("\033[2Jred"), "?[2Jred");
    assert_string_equal(line("a\x7f"
                             "b"),
                        "a?b");
    assert_string_equal(line("\xc2\x9b"
                             "31m"),
                        "??31m"); /* a C1 control character */
    assert_string_equal(line("\xe2\x80\xae"
                             "evil"),
                        "???evil");                   /* reverses the text direction */
    assert_string_equal(line("\xff\xc3"), "??");      /* not UTF-8 */
    assert_string_equal(line("\xc0\xaf"), "??");      /* overlong */
    assert_string_equal(line("\xed\xa0\x80"), "???"); /* half a surrogate pair */
}

static void test_long_messages_are_cut_between_characters(void **state)
{
    char to[4];
    assert_string_equal(sanitize_line(to, sizeof to, "abcdef", 6), "abc");
    assert_string_equal(sanitize_line(to, sizeof to, "ab\xc3\xa4", 4), "ab");
    assert_string_equal(sanitize_line(to, sizeof to, "a\0b", 3), "a?b");
    assert_string_equal(sanitize_line(to, 1, "abc", 3), "");
}

static const char *safe(const char *url)
{
    static char to[128];
    return sanitize_url(to, sizeof to, url);
}

static void test_urls_lose_what_may_be_secret(void **state)
{
    assert_string_equal(safe("http://localhost:4318/v1/traces"), "http://localhost:4318/v1/traces");
    assert_string_equal(safe("https://me:pass@host/v1/traces?token=x#y"), "https://host/v1/traces");
    assert_string_equal(safe("https://me:p/a@s@host:1/"), "https://host:1/");
    assert_string_equal(safe("me:pass@host:4317"), "host:4317");
    assert_string_equal(safe("host:4317"), "host:4317");
    assert_string_equal(safe("http://host?a=b://c@d"), "http://host");
    assert_string_equal(safe(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_becomes_one_line),
        cmocka_unit_test(test_nothing_reaches_the_terminal_but_text),
        cmocka_unit_test(test_long_messages_are_cut_between_characters),
        cmocka_unit_test(test_urls_lose_what_may_be_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
