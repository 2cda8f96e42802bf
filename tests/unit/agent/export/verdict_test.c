#include "agent/export/otlp/verdict.h"

#include "base/clock.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/* Replaces the module's JSON parser and records its input. */
static bool read_json(const uint8_t *text, size_t bytes, struct otlp_response *response)
{
    snprintf(response->message, sizeof response->message, "json:%.*s", (int)bytes, (const char *)text);
    return bytes > 0;
}

static const struct transport transport = {.version = TRANSPORT_VERSION, .read_json = read_json};

static struct transport_response http_answer(long status, const char *type, const char *body, size_t bytes)
{
    struct transport_response answer = {
        .http_status = status, .body = (const uint8_t *)body, .body_bytes = bytes};
    snprintf(answer.content_type, sizeof answer.content_type, "%s", type);
    return answer;
}

static struct verdict judge_http(struct transport_response answer)
{
    struct verdict verdict;
    verdict_http(&transport, &answer, NULL, &verdict);
    return verdict;
}

static void test_every_http_status_has_its_verdict(void **state)
{
    for (long status = 200; status < 600; status++) {
        struct verdict verdict = judge_http(http_answer(status, "", NULL, 0));
        bool retry = status == 429 || status == 502 || status == 503 || status == 504;
        assert_int_equal(verdict.kind, status < 300 ? VERDICT_ACCEPTED
                                       : retry      ? VERDICT_RETRY
                                                    : VERDICT_REFUSED);
        assert_int_equal(verdict.delay_ns, 0);
    }
}

static void test_bodies_are_read_by_their_type(void **state)
{
    struct verdict verdict =
        judge_http(http_answer(200, "application/x-protobuf", "\x0a\x06\x08\x03\x12\x02no", 8));
    assert_int_equal(verdict.rejected_spans, 3);
    assert_string_equal(verdict.message, "no");
    verdict = judge_http(http_answer(400, "application/x-protobuf; v=1",
                                     "\x08\x03\x12\x03"
                                     "bad",
                                     7));
    assert_string_equal(verdict.message, "bad");
    verdict = judge_http(http_answer(400, "application/json", "{}", 2));
    assert_string_equal(verdict.message, "json:{}");
    verdict = judge_http(http_answer(500, "text/plain; charset=utf-8", "oh no", 5));
    assert_string_equal(verdict.message, "oh no");
    verdict = judge_http(http_answer(200, "text/plain", "fine", 4));
    assert_string_equal(verdict.message, "");
    verdict = judge_http(http_answer(500, "text/html", "<html>", 6));
    assert_string_equal(verdict.message, "");
    verdict = judge_http(http_answer(200, "application/x-protobuf", "\xff", 1)); /* accepted is accepted */
    assert_int_equal(verdict.kind, VERDICT_ACCEPTED);
}

/* A server without zstd support answers 415, 400 or gRPC's UNIMPLEMENTED. */
static void test_a_server_without_zstd_gets_a_hint(void **state)
{
    static const struct {
        long status;
        const char *encoding;
        const char *hint;
    } cases[] = {{400, "zstd", "zstd"}, {415, "zstd", "zstd"},        {413, "zstd", "batch_size"},
                 {400, "gzip", NULL},   {415, "gzip", "compression"}, {415, NULL, "compression"}};
    struct verdict verdict;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct transport_response answer = http_answer(cases[i].status, "", NULL, 0);
        verdict_http(&transport, &answer, cases[i].encoding, &verdict);
        assert_int_equal(verdict.kind, VERDICT_REFUSED);
        assert_true(cases[i].hint ? verdict.hint && strstr(verdict.hint, cases[i].hint) : !verdict.hint);
    }
    struct transport_response answer = {
        .http_status = 200,
        .grpc_status = "12",
        .grpc_message = "grpc: Decompressor is not installed for grpc-encoding \"zstd\"",
    };
    verdict_grpc(&answer, "zstd", &verdict);
    assert_non_null(strstr(verdict.hint, "compression to gzip"));
    verdict_grpc(&answer, "gzip", &verdict);
    assert_null(strstr(verdict.hint, "compression to gzip"));
}

static void test_retry_after_counts(void **state)
{
    struct transport_response answer = http_answer(503, "", NULL, 0);
    answer.retry_after_ns = 3 * NS_PER_SECOND;
    assert_int_equal(judge_http(answer).delay_ns, 3 * NS_PER_SECOND);
    answer.retry_after_ns = 0;
    assert_int_equal(judge_http(answer).delay_ns, 0);
}

static struct verdict judge_grpc(const char *code, const char *message, const char *details)
{
    struct transport_response answer = {.http_status = 200};
    snprintf(answer.grpc_status, sizeof answer.grpc_status, "%s", code);
    snprintf(answer.grpc_message, sizeof answer.grpc_message, "%s", message);
    snprintf(answer.grpc_details, sizeof answer.grpc_details, "%s", details);
    struct verdict verdict;
    verdict_grpc(&answer, NULL, &verdict);
    return verdict;
}

static void test_every_grpc_code_has_its_verdict(void **state)
{
    static const int retried[] = {1, 4, 10, 11, 14, 15};
    for (int code = 1; code < 20; code++) {
        char text[16];
        snprintf(text, sizeof text, "%d", code);
        bool retry = false;
        for (size_t i = 0; i < sizeof retried / sizeof *retried; i++)
            retry |= retried[i] == code;
        assert_int_equal(judge_grpc(text, "", "").kind, retry ? VERDICT_RETRY : VERDICT_REFUSED);
    }
    assert_int_equal(judge_grpc("0", "", "").kind, VERDICT_ACCEPTED);
}

static void test_a_grpc_status_that_is_no_number_is_unknown(void **state)
{
    static const char *const wrong[] = {"abc", "0x0", "-0", "+0", "0,0", "0 OK", " 0", "OK"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct verdict verdict = judge_grpc(wrong[i], "", "");
        assert_int_equal(verdict.kind, VERDICT_REFUSED);
        assert_string_equal(verdict.status, "gRPC UNKNOWN");
    }
    assert_int_equal(judge_grpc("999999999999999", "", "").kind, VERDICT_REFUSED);
}

/* google.rpc.Status {8, "busy", RetryInfo {2 s}}, made with protoc --encode and base64. */
#define BUSY_FOR_2_SECONDS "CAgSBGJ1c3kaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIAg=="

static void test_resource_exhausted_is_retried_when_it_says_when(void **state)
{
    struct verdict verdict = judge_grpc("8", "", BUSY_FOR_2_SECONDS);
    assert_int_equal(verdict.kind, VERDICT_RETRY);
    assert_int_equal(verdict.delay_ns, 2 * NS_PER_SECOND);
    assert_string_equal(verdict.message, "busy");
    verdict = judge_grpc("14", "really%20busy", BUSY_FOR_2_SECONDS);
    assert_string_equal(verdict.message, "really busy");
    assert_string_equal(verdict.status, "gRPC UNAVAILABLE");
    assert_int_equal(verdict.delay_ns, 2 * NS_PER_SECOND);
    verdict = judge_grpc("8", "", "not base64!");
    assert_int_equal(verdict.kind, VERDICT_REFUSED);
}

static void test_grpc_partial_success_is_read(void **state)
{
    struct transport_response answer = {.http_status = 200,
                                        .grpc_status = "0",
                                        .body = (const uint8_t *)"\0\0\0\0\x08\x0a\x06\x08\x03\x12\x02no",
                                        .body_bytes = 13};
    struct verdict verdict;
    verdict_grpc(&answer, NULL, &verdict);
    assert_int_equal(verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(verdict.rejected_spans, 3);
    assert_string_equal(verdict.message, "no");
}

static void test_answers_from_in_between_are_mapped(void **state)
{
    struct transport_response answer = {.http_status = 503, .retry_after_ns = NS_PER_SECOND};
    struct verdict verdict;
    verdict_grpc(&answer, NULL, &verdict);
    assert_int_equal(verdict.kind, VERDICT_RETRY);
    assert_int_equal(verdict.delay_ns, NS_PER_SECOND);
    assert_string_equal(verdict.status, "HTTP 503");
    answer = (struct transport_response){.http_status = 404};
    verdict_grpc(&answer, NULL, &verdict);
    assert_int_equal(verdict.kind, VERDICT_REFUSED);
    assert_non_null(verdict.hint);
    answer = (struct transport_response){.http_status = 200}; /* a web page */
    verdict_grpc(&answer, NULL, &verdict);
    assert_int_equal(verdict.kind, VERDICT_REFUSED);
    assert_non_null(verdict.hint);
}

static void test_a_grpc_answer_that_lost_its_status_is_retried(void **state)
{
    struct transport_response answer = {.http_status = 200, .content_type = "application/grpc+proto"};
    struct verdict verdict;
    verdict_grpc(&answer, NULL, &verdict);
    assert_int_equal(verdict.kind, VERDICT_RETRY);
    assert_non_null(strstr(verdict.status, "ended before"));
}

static void test_accepting_answers_that_are_no_otlp_are_noticed(void **state)
{
    struct verdict verdict = judge_http(http_answer(200, "text/html", "<html>", 6));
    assert_int_equal(verdict.kind, VERDICT_ACCEPTED);
    assert_true(verdict.unreadable);
    assert_true(judge_http(http_answer(200, "application/x-protobuf", "\xff\xff", 2)).unreadable);
    assert_false(judge_http(http_answer(200, "application/x-protobuf", "\x0a\x00", 2)).unreadable);
    assert_false(judge_http(http_answer(204, "text/html", NULL, 0)).unreadable);
    assert_false(judge_http(http_answer(500, "text/html", "<html>", 6)).unreadable);
    struct transport_response cut_off = http_answer(200, "application/x-protobuf", "\x0a\x06", 2);
    cut_off.broken_off = true; /* has its own message */
    assert_false(judge_http(cut_off).unreadable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_http_status_has_its_verdict),
        cmocka_unit_test(test_a_grpc_answer_that_lost_its_status_is_retried),
        cmocka_unit_test(test_accepting_answers_that_are_no_otlp_are_noticed),
        cmocka_unit_test(test_bodies_are_read_by_their_type),
        cmocka_unit_test(test_a_server_without_zstd_gets_a_hint),
        cmocka_unit_test(test_retry_after_counts),
        cmocka_unit_test(test_every_grpc_code_has_its_verdict),
        cmocka_unit_test(test_a_grpc_status_that_is_no_number_is_unknown),
        cmocka_unit_test(test_resource_exhausted_is_retried_when_it_says_when),
        cmocka_unit_test(test_grpc_partial_success_is_read),
        cmocka_unit_test(test_answers_from_in_between_are_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
