#include "agent/export/otlp/secrets.h"

#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static struct secrets of_header(const char *value)
{
    struct secrets secrets = {0};
    assert_int_equal(secrets_add_header(&secrets, value), STATUS_OK);
    return secrets;
}

static struct secrets of_url(const char *url)
{
    struct secrets secrets = {0};
    assert_int_equal(secrets_add_url(&secrets, url), STATUS_OK);
    return secrets;
}

static void test_a_value_and_its_token_are_found(void **state)
{
    struct secrets secrets = of_header("Bearer abcdef123");
    assert_true(secrets_leak(&secrets, "bad token abcdef123!"));
    assert_true(secrets_leak(&secrets, "got 'Bearer abcdef123'"));
    assert_false(secrets_leak(&secrets, "bad token abcdef"
                                        "??? that is not it"));
    assert_false(secrets_leak(&secrets, ""));
    secrets_deinit(&secrets);
    secrets = of_header("Digest username=me, response=f00dfacef00dface");
    assert_true(secrets_leak(&secrets, "response=f00dfacef00dface does not match"));
    assert_true(secrets_leak(&secrets, "can't parse username=me, response=..."));
    secrets_deinit(&secrets);
    assert_false(secrets_leak(&secrets, "abcdef123"));
}

/* A token of 900 characters in a message that ends after 511 bytes, or sooner. */
static void test_a_cut_token_is_found(void **state)
{
    static const char beginning[] = "can't accept this: Authorization: Bearer ";
    char value[7 + 900 + 1] = "Bearer ", message[512] = {0};
    for (int i = 0; i < 900; i++)
        value[7 + i] = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"[i * 7 % 36];
    struct secrets secrets = of_header(value);
    size_t room = sizeof message - sizeof beginning;
    memcpy(message, beginning, sizeof beginning - 1);
    memcpy(message + sizeof beginning - 1, value + 7, room);
    assert_true(secrets_leak(&secrets, message));
    /* Also where it is cut within the part that is looked for. */
    for (size_t shown = room; shown-- > 0;) {
        message[sizeof beginning - 1 + shown] = '\0';
        assert_int_equal(secrets_leak(&secrets, message), shown >= SECRET_BYTES_MIN);
    }
    secrets_deinit(&secrets);
}

static void test_what_is_no_secret_hides_nothing(void **state)
{
    struct secrets secrets = of_header("Bearer abcdef1234567890");
    assert_false(secrets_leak(&secrets, "the scheme must be Bearer"));
    assert_false(secrets_leak(&secrets, "the scheme must be Bearer "));
    assert_false(secrets_leak(&secrets, "no Bearer token given, see abcd"));
    assert_false(secrets_leak(&secrets, "abcdef 1234567890"));
    secrets_deinit(&secrets);
    static const char *const short_ones[] = {"", "1", "dev", "prod", "a b", " ", "x y z"};
    for (size_t i = 0; i < sizeof short_ones / sizeof *short_ones; i++) {
        secrets = of_header(short_ones[i]);
        assert_false(secrets_leak(&secrets, "1 of 2 in dev and prod: a, b"));
        secrets_deinit(&secrets);
    }
}

static void test_credentials_in_a_url_are_found(void **state)
{
    /* printf %s 'user:hunter22' | base64 */
    struct secrets secrets = of_url("http://user:hunter22@collector:4318/v1/traces");
    assert_true(secrets_leak(&secrets, "hunter22 is no password"));
    assert_true(secrets_leak(&secrets, "Authorization: Basic dXNlcjpodW50ZXIyMg=="));
    assert_true(secrets_leak(&secrets, "... Basic dXNlcjpodW"));
    assert_false(secrets_leak(&secrets, "no user on collector:4318"));
    secrets_deinit(&secrets);
    /* printf %s 'me@home:p@ss:word' | base64 */
    secrets = of_url("https://me%40home:p%40ss:word@collector?token=a@b");
    assert_true(secrets_leak(&secrets, "'p@ss:word'"));
    assert_true(secrets_leak(&secrets, "'p%40ss:word'"));
    assert_true(secrets_leak(&secrets, "Basic bWVAaG9tZTpwQHNzOndvcmQ="));
    secrets_deinit(&secrets);
    /* printf %s 'a-quite-long-user-name:pw' | base64: the first part of it is looked for */
    secrets = of_url("http://a-quite-long-user-name:pw@collector");
    assert_true(secrets_leak(&secrets, "Basic YS1xdWl0ZS1sb25nLXVzZXItbmFtZTpwdw=="));
    secrets_deinit(&secrets);
    /* printf %s 'elevenchars:pw' | base64: name and colon fill what is encoded */
    secrets = of_url("http://elevenchars:pw@collector");
    assert_true(secrets_leak(&secrets, "Basic ZWxldmVuY2hhcnM6cHc="));
    secrets_deinit(&secrets);
}

static void test_a_name_without_a_password_is_a_token(void **state)
{
    static const char *const urls[] = {"http://glc_0123456789@collector", "glc_0123456789:@collector"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct secrets secrets = of_url(urls[i]);
        assert_true(secrets_leak(&secrets, "unknown user glc_0123456789"));
        /* printf %s 'glc_0123456789:' | base64 */
        assert_true(secrets_leak(&secrets, "Basic Z2xjXzAxMjM0NTY3ODk6"));
        secrets_deinit(&secrets);
    }
}

static void test_most_urls_have_no_secrets(void **state)
{
    static const char *const urls[] = {"", "http://collector:4318/v1/traces", "collector:4317",
                                       "http://collector/a@b", "http://collector?c=d@e"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct secrets secrets = of_url(urls[i]);
        assert_int_equal(secrets.count, 0);
        secrets_deinit(&secrets);
    }
}

static void test_what_a_url_should_have_encoded(void **state)
{
    struct secrets secrets = of_url("http://user:hunter/22#x?y z@proxy:3128");
    assert_true(secrets_leak(&secrets, "no proxy hunter/22#x?y z"));
    secrets_deinit(&secrets);
    secrets = of_url("https://collector/v1/traces?api_key=0123456789&b=short");
    assert_true(secrets_leak(&secrets, "Cannot POST /v1/traces?api_key=0123456789"));
    assert_false(secrets_leak(&secrets, "api_key"));
    secrets_deinit(&secrets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_and_its_token_are_found),
        cmocka_unit_test(test_a_cut_token_is_found),
        cmocka_unit_test(test_what_is_no_secret_hides_nothing),
        cmocka_unit_test(test_credentials_in_a_url_are_found),
        cmocka_unit_test(test_a_name_without_a_password_is_a_token),
        cmocka_unit_test(test_what_a_url_should_have_encoded),
        cmocka_unit_test(test_most_urls_have_no_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
