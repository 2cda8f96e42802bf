#include "base/text/sanitize.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>

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

static const char *message(const char *from)
{
    static char text[64];
    snprintf(text, sizeof text, "%s", from);
    return sanitize_in_place(text);
}

static void test_names_in_messages_neither_move_the_cursor_nor_start_a_line(void **state)
{
    assert_string_equal(message("a  b/größe: No such file"), "a  b/größe: No such file");
    assert_string_equal(message("a\033[2J\nb\r\tc\x7f: missing"), "a?[2J?b??c?: missing");
    assert_string_equal(message("\xc2\x9b"
                                "31m \xe2\x80\xae \xff \xe6\x97"),
                        "??31m ??? ? ??");
    assert_string_equal(message("http://me:pw@h\n"), "http://***@h?");
    assert_string_equal(message(""), "");
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

static const char *masked(const char *text)
{
    static char to[256];
    snprintf(to, sizeof to, "%s", text);
    return sanitize_secrets(to);
}

static void test_texts_lose_what_may_be_secret(void **state)
{
    assert_string_equal(masked("no route to http://localhost:4318/v1/traces: refused"),
                        "no route to http://localhost:4318/v1/traces: refused");
    assert_string_equal(masked("bad proxy in 'http://alice:S3cretPw@127.0.0.1:99999'"),
                        "bad proxy in 'http://***@127.0.0.1:99999'");
    assert_string_equal(masked("alice:S3cretPw@host is not a proxy"), "***@host is not a proxy");
    assert_string_equal(masked("http://token@host"), "http://***@host");
    assert_string_equal(masked("http://a:p/w@h/ and http://a:p#w@h and http://a:p?w@h"),
                        "http://***@h/ and http://***@h and http://***@h");
    assert_string_equal(masked("http://a:p@w@h"), "http://***@h");
    assert_string_equal(masked("bad proxy 'http://alice:my pass@host', it's bad"),
                        "bad proxy 'http://***@host', it's bad");
    assert_string_equal(masked("http:////a:pw@h"), "http://***@h");
    assert_string_equal(masked("the password's '@' was cut: http://alice:S3cre"),
                        "the password's '@' was cut: http://alice:***");
    assert_string_equal(masked("https://host:1/v1/traces?key=s3cr3t done"),
                        "https://host:1/v1/traces?*** done");
    assert_string_equal(masked("https://host:1/x?mail=me@there"), "https://host:1/x?***");
    assert_string_equal(masked("expected http://HOST:PORT, https://HOST:PORT or HOST:PORT"),
                        "expected http://HOST:PORT, https://HOST:PORT or HOST:PORT");
    assert_string_equal(masked("endpoint=http://c:4317;protocol=grpc, http://c:4318, and (http://c:80)"),
                        "endpoint=http://c:4317;protocol=grpc, http://c:4318, and (http://c:80)");
    assert_string_equal(masked("me@there.org, git@[::1]:22, http://[::1]:4318/, a@b"),
                        "me@there.org, git@[::1]:22, http://[::1]:4318/, a@b");
    assert_string_equal(masked("x:@ :@ @ :// ://@ a://b:@"), "**@ *@ @ :// ://@ a://**@");
    assert_string_equal(masked(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message_becomes_one_line),
        cmocka_unit_test(test_nothing_reaches_the_terminal_but_text),
        cmocka_unit_test(test_names_in_messages_neither_move_the_cursor_nor_start_a_line),
        cmocka_unit_test(test_long_messages_are_cut_between_characters),
        cmocka_unit_test(test_texts_lose_what_may_be_secret),
        cmocka_unit_test(test_urls_lose_what_may_be_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
