#include "agent/export/curl_module/json_response.h"

#include "base/clock.h"
#include "support/test.h"

#include <string.h>

static struct otlp_response read_fine(const char *text)
{
    struct otlp_response response = {0};
    assert_true(json_response_read((const uint8_t *)text, strlen(text), &response));
    return response;
}

static void test_partial_success_is_read(void **state)
{
    struct otlp_response response =
        read_fine("{\"partialSuccess\":{\"rejectedSpans\":\"12\",\"errorMessage\":\"no room\"}}");
    assert_int_equal(response.rejected_spans, 12);
    assert_string_equal(response.message, "no room");
    assert_int_equal(read_fine("{\"partialSuccess\":{\"rejectedSpans\":3}}").rejected_spans, 3);
    assert_int_equal(read_fine("{\"partialSuccess\":{\"rejectedSpans\":-3}}").rejected_spans, 0);
    assert_int_equal(read_fine("{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}").rejected_spans, 0);
    assert_int_equal(read_fine("{\"partialSuccess\":{\"rejectedSpans\":1e300}}").rejected_spans, 0);
    assert_int_equal(read_fine("{\"partialSuccess\":null}").rejected_spans, 0);
    assert_int_equal(read_fine("{}").rejected_spans, 0);
}

static void test_a_status_is_read_with_its_retry_delay(void **state)
{
    struct otlp_response response =
        read_fine("{\"code\":14,\"message\":\"busy\",\"details\":[{\"@type\":\"x\"},"
                  "{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"1.25s\"}]}");
    assert_int_equal(response.code, 14);
    assert_string_equal(response.message, "busy");
    assert_true(response.has_retry_delay);
    assert_int_equal(response.retry_delay_ns, 1250 * NS_PER_MS);
    response =
        read_fine("{\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":"
                  "{\"seconds\":\"2\",\"nanos\":500000000}}]}");
    assert_int_equal(response.retry_delay_ns, 2500 * NS_PER_MS);
    response =
        read_fine("{\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":"
                  "\"99999999999999999999s\"}]}");
    assert_int_equal(response.retry_delay_ns, 86400 * NS_PER_SECOND);
}

static void test_values_of_a_wrong_type_are_harmless(void **state)
{
    struct otlp_response response =
        read_fine("{\"code\":\"x\",\"message\":[1],\"details\":{\"@type\":3},\"partialSuccess\":[]}");
    assert_int_equal(response.code, 0);
    assert_string_equal(response.message, "");
    assert_false(response.has_retry_delay);
}

static void test_what_is_no_object_is_refused(void **state)
{
    static const char *const wrong[] = {"", "[]", "3", "null", "{", "<html>", "{\"a\":}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct otlp_response response = {0};
        assert_false(json_response_read((const uint8_t *)wrong[i], strlen(wrong[i]), &response));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partial_success_is_read),
        cmocka_unit_test(test_a_status_is_read_with_its_retry_delay),
        cmocka_unit_test(test_values_of_a_wrong_type_are_harmless),
        cmocka_unit_test(test_what_is_no_object_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
