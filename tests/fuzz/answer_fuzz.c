/* A collector's response, over HTTP (protobuf, JSON, plain text) and gRPC (trailers, base64
 * details, a framed message): arbitrary bytes give a verdict with terminated texts and a bounded delay.
 *
 * The first byte selects the status, the second the kind of response. Headers and trailers follow, each after
 * a 0xff byte; the rest is the body. */
// SOURCES: src/agent/export/curl_module/json_response.c
#include "agent/export/curl_module/json_response.h"
#include "agent/export/otlp/retry.h"
#include "agent/export/otlp/verdict.h"

#include "fuzz.h"

#define DELAY_NS_MAX ((86400 + 1) * 1000000000ull)

static const struct transport transport = {.version = TRANSPORT_VERSION, .read_json = json_response_read};

static void take_text(const uint8_t **data, size_t *size, char *to, size_t room)
{
    size_t bytes;
    char *part = fuzz_part(data, size, &bytes);
    snprintf(to, room, "%s", part);
    free(part);
}

static void check(const struct verdict *verdict)
{
    require(verdict->kind == VERDICT_ACCEPTED || verdict->kind == VERDICT_RETRY ||
                verdict->kind == VERDICT_REFUSED,
            "no such verdict");
    require(memchr(verdict->status, 0, sizeof verdict->status) != NULL, "the status does not end");
    require(memchr(verdict->message, 0, sizeof verdict->message) != NULL, "the message does not end");
    require(verdict->delay_ns <= DELAY_NS_MAX, "the delay has no bound");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 202, 204, 301, 400, 401, 404, 413,
                                    415, 429, 500, 502, 503, 504, 0,   999};
    static const char *const types[] = {"application/x-protobuf", "application/json; charset=utf-8",
                                        "text/plain", "application/grpc"};
    static struct transport_response answer;
    struct verdict verdict;
    if (size < 2)
        return 0;
    memset(&answer, 0, sizeof answer);
    answer.http_status = statuses[data[0] % (sizeof statuses / sizeof *statuses)];
    unsigned type = data[1];
    data += 2;
    size -= 2;
    snprintf(answer.content_type, sizeof answer.content_type, "%s", types[type % 4]);
    if (type & 0x10)
        take_text(&data, &size, answer.content_type, sizeof answer.content_type);
    if (type & 0x40) {
        take_text(&data, &size, answer.grpc_status, sizeof answer.grpc_status);
        take_text(&data, &size, answer.grpc_message, sizeof answer.grpc_message);
        take_text(&data, &size, answer.grpc_details, sizeof answer.grpc_details);
    }
    uint8_t *body = malloc(size ? size : 1); /* of exactly this size, to detect reads beyond it */
    require(body != NULL, "no memory");
    memcpy(body, data, size);
    answer.body = size ? body : NULL;
    answer.body_bytes = size;

    verdict_http(&transport, &answer, type & 0x80 ? "zstd" : "gzip", &verdict);
    check(&verdict);
    bool is_success = answer.http_status >= 200 && answer.http_status < 300;
    require((verdict.kind == VERDICT_ACCEPTED) == is_success, "the verdict is not the status's");
    verdict_grpc(&answer, NULL, &verdict);
    check(&verdict);
    require(verdict.kind != VERDICT_ACCEPTED || answer.grpc_status[0], "accepted without a gRPC status");

    struct retry retry;
    bool server_asked;
    retry_init(&retry, 0, 1);
    uint64_t pause_ns = retry_pause_ns(&retry, verdict.delay_ns, &server_asked);
    require(pause_ns <= RETRY_SERVER_MAX_MS * 1000000ull, "the pause has no bound");
    free(body);
    return 0;
}
