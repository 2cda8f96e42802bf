#include "agent/export/otlp/grpc.h"

#include "base/clock.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static void test_a_frame_goes_out_and_comes_back(void **state)
{
    uint8_t frame[GRPC_PREFIX_BYTES + 300] = {0};
    const uint8_t *message;
    size_t bytes;
    grpc_prefix(frame, false, 300);
    assert_memory_equal(frame, "\0\0\0\x01\x2c", 5);
    assert_true(grpc_unframe(frame, sizeof frame, &message, &bytes));
    assert_ptr_equal(message, frame + 5);
    assert_int_equal(bytes, 300);
    grpc_prefix(frame, true, 0x01020304);
    assert_memory_equal(frame, "\x01\x01\x02\x03\x04", 5);
}

static void test_broken_frames_are_refused(void **state)
{
    const uint8_t *message;
    size_t bytes;
    assert_false(grpc_unframe(NULL, 0, &message, &bytes));
    assert_false(grpc_unframe((const uint8_t *)"\0\0\0\0", 4, &message, &bytes));
    assert_false(grpc_unframe((const uint8_t *)"\0\0\0\0\x02x", 6, &message, &bytes)); /* one byte short */
    assert_false(grpc_unframe((const uint8_t *)"\x01\0\0\0\0", 5, &message, &bytes));  /* compressed */
    assert_true(grpc_unframe((const uint8_t *)"\0\0\0\0\0", 5, &message, &bytes));
    assert_int_equal(bytes, 0);
}

static void check_url(const char *endpoint, bool insecure, const char *expected)
{
    char *url = grpc_url(endpoint, insecure, GRPC_TRACES_PATH);
    assert_non_null(url);
    assert_int_equal(strncmp(url, expected, strlen(expected)), 0);
    assert_string_equal(url + strlen(expected), GRPC_TRACES_PATH);
    free(url);
}

static void test_endpoints_become_urls(void **state)
{
    check_url("http://localhost:4317", false, "http://localhost:4317");
    check_url("https://collector:443/", true, "https://collector:443");
    check_url("https://collector/some/path?x", false, "https://collector");
    check_url("collector:4317", true, "http://collector:4317");
    check_url("collector:4317", false, "https://collector:4317");
}

static void test_timeouts_fit_into_eight_digits(void **state)
{
    char text[16];
    grpc_timeout(text, sizeof text, 10 * NS_PER_SECOND);
    assert_string_equal(text, "10000m");
    grpc_timeout(text, sizeof text, 1);
    assert_string_equal(text, "1m");
    grpc_timeout(text, sizeof text, 200000ull * NS_PER_SECOND);
    assert_string_equal(text, "200000S");
    grpc_timeout(text, sizeof text, UINT64_MAX - NS_PER_SECOND);
    assert_string_equal(text, "99999999S");
}

static void test_binary_headers_are_base64(void **state)
{
    uint8_t bytes[8];
    size_t count;
    assert_true(grpc_base64_decode("CAgSBGJ1c3k", bytes, sizeof bytes, &count));
    assert_int_equal(count, 8);
    assert_memory_equal(bytes,
                        "\x08\x08\x12\x04"
                        "busy",
                        8);
    assert_true(grpc_base64_decode("/+8=", bytes, sizeof bytes, &count));
    assert_int_equal(count, 2);
    assert_memory_equal(bytes, "\xff\xef", 2);
    assert_true(grpc_base64_decode("", bytes, sizeof bytes, &count));
    assert_int_equal(count, 0);
    assert_false(grpc_base64_decode("a", bytes, sizeof bytes, &count));
    assert_false(grpc_base64_decode("ab*d", bytes, sizeof bytes, &count));
    assert_false(grpc_base64_decode("CAgSBGJ1c3kAAA", bytes, sizeof bytes, &count)); /* doesn't fit */
}

static void test_codes_have_names(void **state)
{
    assert_string_equal(grpc_code_name(0), "OK");
    assert_string_equal(grpc_code_name(14), "UNAVAILABLE");
    assert_string_equal(grpc_code_name(16), "UNAUTHENTICATED");
    assert_string_equal(grpc_code_name(17), "code 17");
    assert_string_equal(grpc_code_name(-1), "code -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_goes_out_and_comes_back),
        cmocka_unit_test(test_broken_frames_are_refused),
        cmocka_unit_test(test_endpoints_become_urls),
        cmocka_unit_test(test_timeouts_fit_into_eight_digits),
        cmocka_unit_test(test_binary_headers_are_base64),
        cmocka_unit_test(test_codes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
