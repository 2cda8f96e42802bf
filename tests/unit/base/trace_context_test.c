#include "base/trace_context.h"

#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN   "00f067aa0ba902b7"
#define PARENT "00-" TRACE "-" SPAN "-01"

static struct trace_context context;

static void test_a_valid_parent_is_taken(void **state)
{
    static const uint8_t trace[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                      0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t span[8] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    assert_true(trace_context_parse(PARENT, "a=1,b=2", &context));
    assert_memory_equal(context.trace_id, trace, 16);
    assert_memory_equal(context.span_id, span, 8);
    assert_int_equal(context.flags, TRACE_FLAG_SAMPLED);
    assert_string_equal(context.trace_state, "a=1,b=2");
}

static void test_unknown_flags_become_zero(void **state)
{
    assert_true(trace_context_parse("00-" TRACE "-" SPAN "-ff", NULL, &context));
    assert_int_equal(context.flags, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    assert_true(trace_context_parse("00-" TRACE "-" SPAN "-fc", NULL, &context));
    assert_int_equal(context.flags, 0);
    assert_string_equal(context.trace_state, "");
}

static void test_a_later_version_may_go_on(void **state)
{
    assert_true(trace_context_parse("01-" TRACE "-" SPAN "-01", NULL, &context));
    assert_true(trace_context_parse("cc-" TRACE "-" SPAN "-01-what-the-future-brings", NULL, &context));
    assert_false(trace_context_parse("cc-" TRACE "-" SPAN "-01.what-the-future-brings", NULL, &context));
}

static void test_what_is_invalid_counts_for_nothing(void **state)
{
    static const char *const invalid[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-011",
        "ff-" TRACE "-" SPAN "-01",
        "0x-" TRACE "-" SPAN "-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-" TRACE "-00F067AA0BA902B7-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "00-" TRACE "-" SPAN "-0g",
        "00-" TRACE "-" SPAN "-g0",
        " 0-" TRACE "-" SPAN "-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-" SPAN "-01",
    };
    static const struct trace_context none;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        memset(&context, 0xff, sizeof context);
        if (trace_context_parse(invalid[i], "a=1", &context))
            fail_msg("taken: '%s'", invalid[i]);
        assert_memory_equal(&context, &none, sizeof none);
    }
    assert_false(trace_context_parse(NULL, "a=1", &context));
    assert_memory_equal(&context, &none, sizeof none);
}

static void expect_state(const char *text, const char *want)
{
    assert_true(trace_context_parse(PARENT, text, &context));
    assert_string_equal(context.trace_state, want);
}

static void test_a_bad_tracestate_is_left_out_alone(void **state)
{
    char text[TRACE_STATE_MAX + 8] = "k=";
    expect_state("", "");
    expect_state("novalue", "");
    expect_state("a=1\n", "");
    expect_state("a=\xc3\xa4", "");
    expect_state("a=1\x7f", "");
    expect_state("a=1,\tb=2", "a=1,\tb=2");
    memset(text + 2, 'x', TRACE_STATE_MAX - 3);
    text[250] = ',';
    memcpy(text + 251, "l=", 2);
    text[TRACE_STATE_MAX - 8] = ',';
    memcpy(text + TRACE_STATE_MAX - 7, "m=", 2);
    expect_state(text, text); /* the longest */
    text[TRACE_STATE_MAX - 1] = 'x';
    expect_state(text, "");
}

static void test_tracestate_has_at_most_32_members(void **state)
{
    char text[512] = "a0=1";
    for (int i = 1; i < 32; i++)
        sprintf(text + strlen(text), ",a%d=1", i);
    expect_state(text, text);
    strcat(text, ",b=1");
    expect_state(text, "");
}

/* The values of W3C's own tests (github.com/w3c/trace-context, test/test.py). */
static void test_w3c_s_traceparents(void **state)
{
    static const char *const valid[] = {
        "00-12345678901234567890123456789012-1234567890123456-01",
        "cc-12345678901234567890123456789012-1234567890123456-01",
        "cc-12345678901234567890123456789012-1234567890123456-01-what-the-future-will-be-like",
        " 00-12345678901234567890123456789012-1234567890123456-01",
        "\t00-12345678901234567890123456789012-1234567890123456-01",
        "00-12345678901234567890123456789012-1234567890123456-01 ",
        "00-12345678901234567890123456789012-1234567890123456-01\t",
        "\t 00-12345678901234567890123456789012-1234567890123456-01 \t",
    };
    static const char *const invalid[] = {
        "00-12345678901234567890123456789012-1234567890123456-01.",
        "00-12345678901234567890123456789012-1234567890123456-01-what-the-future-will-be-like",
        "cc-12345678901234567890123456789012-1234567890123456-01.what-the-future-will-be-like",
        "ff-12345678901234567890123456789012-1234567890123456-01",
        ".0-12345678901234567890123456789012-1234567890123456-01",
        "0.-12345678901234567890123456789012-1234567890123456-01",
        "000-12345678901234567890123456789012-1234567890123456-01",
        "0000-12345678901234567890123456789012-1234567890123456-01",
        "0-12345678901234567890123456789012-1234567890123456-01",
        "00-00000000000000000000000000000000-1234567890123456-01",
        "00-.2345678901234567890123456789012-1234567890123456-01",
        "00-1234567890123456789012345678901.-1234567890123456-01",
        "00-123456789012345678901234567890123-1234567890123456-01",
        "00-1234567890123456789012345678901-1234567890123456-01",
        "00-12345678901234567890123456789012-0000000000000000-01",
        "00-12345678901234567890123456789012-.234567890123456-01",
        "00-12345678901234567890123456789012-123456789012345.-01",
        "00-12345678901234567890123456789012-12345678901234567-01",
        "00-12345678901234567890123456789012-123456789012345-01",
        "00-12345678901234567890123456789012-1234567890123456-.0",
        "00-12345678901234567890123456789012-1234567890123456-0.",
        "00-12345678901234567890123456789012-1234567890123456-001",
        "00-12345678901234567890123456789012-1234567890123456-1",
    };
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        if (!trace_context_parse(valid[i], NULL, &context))
            fail_msg("refused: '%s'", valid[i]);
        assert_int_equal(context.trace_id[0], 0x12);
        assert_int_equal(context.span_id[7], 0x56);
        assert_int_equal(context.flags, TRACE_FLAG_SAMPLED);
    }
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        if (trace_context_parse(invalid[i], NULL, &context))
            fail_msg("taken: '%s'", invalid[i]);
}

#define EVERY_KEY_CHARACTER "abcdefghijklmnopqrstuvwxyz0123456789_-*/"
#define EVERY_VALUE_CHARACTER                                                                                \
    "!\"#$%&'()*+-./0123456789:;<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

static void test_w3c_s_tracestates(void **state)
{
    static const char *const good[] = {
        "foo=1,bar=2",
        EVERY_KEY_CHARACTER "=" EVERY_VALUE_CHARACTER,
        EVERY_KEY_CHARACTER "@a-z0-9_-*/= " EVERY_VALUE_CHARACTER,
        "foo=1 \t , \t bar=2, \t baz=3",
        "foo=1\t \t,\t \tbar=2,\t \tbaz=3",
        "foo=1,",
        "foo=1,,bar=2",
        "1a-2f@foo=bar1,foo=1", /* level 2: a tenant may start with a digit */
    };
    static const char *const bad[] = {
        "foo",          "foo =1",       "FOO=1",        "foo.bar=1",
        "foo@=1,bar=2", "@foo=1,bar=2", "foo@@bar=1",   "foo@bar@baz=1",
        "foo=bar=baz",  "foo=,bar=3",   "foo=1,foo=1",  "foo=1,foo=2",
        "foo@1bar=1",   "_foo=1",       "foo=1,\x01=2", "foo@abcdefghijklmno=1",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect_state(good[i], good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_state(bad[i], "");
    expect_state("\t foo=1 \t", "foo=1");
    expect_state(" \t", "");
    expect_state(",", "");
}

static void test_keys_have_their_lengths(void **state)
{
    char text[300];
    for (int length = 256; length <= 257; length++) {
        memset(text, 'k', (size_t)length);
        strcpy(text + length, "=1");
        expect_state(text, length == 256 ? text : "");
    }
    for (int length = 241; length <= 242; length++) {
        memset(text, 't', (size_t)length);
        strcpy(text + length, "@v=1");
        expect_state(text, length == 241 ? text : "");
    }
    for (int length = 256; length <= 257; length++) {
        memset(text, 'v', (size_t)length + 2);
        memcpy(text, "k=", 2);
        text[length + 2] = 0;
        expect_state(text, length == 256 ? text : "");
    }
}

static void test_members_are_taken_apart(void **state)
{
    const char *at = " ,a=1 ,\tb@c=2=3, d";
    struct trace_state_member member;
    assert_true(trace_state_next(&at, &member));
    assert_int_equal(member.length, 3);
    assert_int_equal(member.key_length, 1);
    assert_true(trace_state_next(&at, &member));
    assert_int_equal(member.length, 7);
    assert_int_equal(member.key_length, 3);
    assert_memory_equal(member.text, "b@c=2=3", 7);
    assert_true(trace_state_next(&at, &member));
    assert_int_equal(member.length, 1);
    assert_int_equal(member.key_length, 1);
    assert_false(trace_state_next(&at, &member));
    assert_false(trace_state_next(&at, &member));
}

static void test_formatting_gives_back_what_was_parsed(void **state)
{
    char text[TRACEPARENT_BYTES + 1];
    assert_true(trace_context_parse(PARENT, NULL, &context));
    trace_context_format(&context, text);
    assert_string_equal(text, PARENT);
}

static void test_hex(void **state)
{
    char text[7];
    hex_format((const uint8_t[]){0x00, 0xaf, 0xff}, 3, text);
    assert_string_equal(text, "00afff");
    hex_format(NULL, 0, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_valid_parent_is_taken),
        cmocka_unit_test(test_unknown_flags_become_zero),
        cmocka_unit_test(test_a_later_version_may_go_on),
        cmocka_unit_test(test_what_is_invalid_counts_for_nothing),
        cmocka_unit_test(test_a_bad_tracestate_is_left_out_alone),
        cmocka_unit_test(test_tracestate_has_at_most_32_members),
        cmocka_unit_test(test_w3c_s_traceparents),
        cmocka_unit_test(test_w3c_s_tracestates),
        cmocka_unit_test(test_keys_have_their_lengths),
        cmocka_unit_test(test_members_are_taken_apart),
        cmocka_unit_test(test_formatting_gives_back_what_was_parsed),
        cmocka_unit_test(test_hex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
