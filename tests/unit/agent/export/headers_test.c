#include "agent/export/otlp/headers.h"

#include "support/stderr_text.h"
#include "support/test.h"

#include <string.h>

static bool has(const char *const *lines, const char *wanted)
{
    for (; *lines; lines++)
        if (strcmp(*lines, wanted) == 0)
            return true;
    return false;
}

static size_t count(const char *const *lines)
{
    size_t found = 0;
    while (lines[found])
        found++;
    return found;
}

static void test_each_kind_of_request_has_its_headers(void **state)
{
    struct exporter_settings settings = {0};
    struct headers headers;
    assert_int_equal(headers_init(&headers, &settings, NULL), STATUS_OK);
    const char *const *lines = headers_for(&headers, &(struct request_kind){.encoding = "gzip"});
    assert_true(has(lines, "Content-Type: application/x-protobuf"));
    assert_true(has(lines, "Content-Encoding: gzip"));
    assert_true(has(lines, "User-Agent: cuspan/" CUSPAN_VERSION " OTel-OTLP-Exporter-C/" CUSPAN_VERSION));
    assert_int_equal(count(lines), 3);
    lines = headers_for(&headers, &(struct request_kind){.json = true});
    assert_true(has(lines, "Content-Type: application/json"));
    assert_int_equal(count(lines), 2);
    lines = headers_for(&headers,
                        &(struct request_kind){.grpc = true, .encoding = "zstd", .timeout_ns = 5000000});
    assert_true(has(lines, "Content-Type: application/grpc"));
    assert_true(has(lines, "TE: trailers"));
    assert_true(has(lines, "grpc-encoding: zstd"));
    assert_true(has(lines, "grpc-timeout: 5m"));
    assert_int_equal(count(lines), 5);
    headers_deinit(&headers);
}

static void test_users_headers_go_along_but_not_ours(void **state)
{
    struct header given[] = {
        {"api-key", "s3cret-key"}, {"Content-Type", "text/plain"}, {"x-empty", ""}, {"User-Agent", "mine"}};
    struct exporter_settings settings = {.headers = given, .header_count = sizeof given / sizeof *given};
    struct headers headers;
    stderr_begin();
    enum status status = headers_init(&headers, &settings, NULL);
    char *told = stderr_end();
    assert_int_equal(status, STATUS_OK);
    const char *const *lines = headers_for(&headers, &(struct request_kind){0});
    assert_true(has(lines, "api-key: s3cret-key"));
    assert_true(has(lines, "x-empty;"));
    assert_true(has(lines, "User-Agent: mine"));
    assert_int_equal(count(lines), 4);
    assert_non_null(strstr(told, "'Content-Type'"));
    assert_int_equal(times_in(told, "\n"), 1);
    free(told);
    headers_deinit(&headers);
}

static void test_a_message_that_repeats_a_secret_is_known(void **state)
{
    struct header given[] = {{"authorization", "Bearer abcdef123"}, {"x-env", "dev"}};
    struct exporter_settings settings = {.headers = given, .header_count = 2};
    struct headers headers;
    assert_int_equal(headers_init(&headers, &settings, "pod/1"), STATUS_OK);
    assert_true(secrets_leak(&headers.secrets, "bad token abcdef123!"));
    assert_true(secrets_leak(&headers.secrets, "got 'Bearer abcdef123'"));
    assert_false(secrets_leak(&headers.secrets, "bad token for dev"));
    assert_false(secrets_leak(&headers.secrets, ""));
    assert_true(has(headers_for(&headers, &(struct request_kind){0}),
                    "User-Agent: pod/1 cuspan/" CUSPAN_VERSION " OTel-OTLP-Exporter-C/" CUSPAN_VERSION));
    headers_deinit(&headers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_of_request_has_its_headers),
        cmocka_unit_test(test_users_headers_go_along_but_not_ours),
        cmocka_unit_test(test_a_message_that_repeats_a_secret_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
