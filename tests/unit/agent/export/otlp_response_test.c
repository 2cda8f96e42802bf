#include "agent/export/otlp/otlp_response.h"

#include "base/clock.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static void test_an_empty_response_is_full_success(void **state)
{
    struct otlp_response response = {0};
    assert_true(otlp_response_read_export(NULL, 0, &response));
    assert_int_equal(response.rejected_spans, 0);
    assert_string_equal(response.message, "");
}

static void test_partial_success_is_read(void **state)
{
    struct otlp_response response = {0};
    assert_true(otlp_response_read_export(BYTES("\x0a\x0a\x08\xac\x02\x12\x05"
                                                "quota"),
                                          &response));
    assert_int_equal(response.rejected_spans, 300);
    assert_string_equal(response.message, "quota");
}

static void test_unknown_fields_are_skipped(void **state)
{
    struct otlp_response response = {0};
    /* 2: varint, 3: fixed64, 4: bytes, 5: fixed32, then partial_success with an unknown field of its own. */
    assert_true(otlp_response_read_export(BYTES("\x10\x01\x19"
                                                "12345678"
                                                "\x22\x01x\x2d"
                                                "1234"
                                                "\x0a\x05\x18\x09\x12\x01m"),
                                          &response));
    assert_string_equal(response.message, "m");
}

static void test_a_negative_number_rejects_nothing(void **state)
{
    struct otlp_response response = {0};
    assert_true(
        otlp_response_read_export(BYTES("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &response));
    assert_int_equal(response.rejected_spans, 0);
}

static void test_a_status_is_read_with_its_retry_delay(void **state)
{
    struct otlp_response response = {0};
    assert_true(otlp_response_read_status(BYTES("\x08\x08\x12\x04"
                                                "busy"
                                                "\x1a\x30\x0a\x28"
                                                "type.googleapis.com/google.rpc.RetryInfo"
                                                "\x12\x04\x0a\x02\x08\x02"),
                                          &response));
    assert_int_equal(response.code, 8);
    assert_string_equal(response.message, "busy");
    assert_true(response.has_retry_delay);
    assert_int_equal(response.retry_delay_ns, 2 * NS_PER_SECOND);
}

static void test_other_details_are_no_retry_delay(void **state)
{
    struct otlp_response response = {0};
    assert_true(otlp_response_read_status(BYTES("\x08\x0e\x1a\x08\x0a\x03"
                                                "abc"
                                                "\x12\x01z"),
                                          &response));
    assert_int_equal(response.code, 14);
    assert_false(response.has_retry_delay);
}

static void test_long_messages_are_cut(void **state)
{
    struct otlp_response response = {0};
    uint8_t bytes[1000];
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "\x12\xe5\x07", 3); /* message, 997 bytes */
    assert_true(otlp_response_read_status(bytes, sizeof bytes, &response));
    assert_int_equal(strlen(response.message), sizeof response.message - 1);
}

static void test_every_truncation_is_noticed_or_harmless(void **state)
{
    const char whole[] = "\x0a\x0a\x08\xac\x02\x12\x05"
                         "quota";
    for (size_t count = 0; count < sizeof whole - 1; count++) {
        struct otlp_response response = {0};
        uint8_t *exact = malloc(count + 1); /* so that the address sanitizer sees a byte too far */
        memcpy(exact, whole, count);
        assert_int_equal(otlp_response_read_export(exact, count, &response), count == 0);
        free(exact);
    }
}

static void test_nonsense_is_refused(void **state)
{
    struct otlp_response response = {0};
    assert_false(otlp_response_read_export(BYTES("\x0b"), &response));     /* a group */
    assert_false(otlp_response_read_export(BYTES("\x02\x00"), &response)); /* field 0 */
    assert_false(otlp_response_read_export(BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                                           &response)); /* beyond the end */
    assert_false(
        otlp_response_read_status(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), &response));
    assert_false(otlp_response_read_status(BYTES("<html>"), &response));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_response_is_full_success),
        cmocka_unit_test(test_partial_success_is_read),
        cmocka_unit_test(test_unknown_fields_are_skipped),
        cmocka_unit_test(test_a_negative_number_rejects_nothing),
        cmocka_unit_test(test_a_status_is_read_with_its_retry_delay),
        cmocka_unit_test(test_other_details_are_no_retry_delay),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_every_truncation_is_noticed_or_harmless),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
