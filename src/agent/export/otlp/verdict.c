#include "agent/export/otlp/verdict.h"

#include "agent/export/otlp/grpc.h"
#include "agent/export/otlp/retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool type_is(const struct transport_response *answer, const char *type)
{
    size_t bytes = strlen(type);
    const char *actual = answer->content_type;
    return strncasecmp(actual, type, bytes) == 0 && (actual[bytes] == '\0' || strchr("; \t", actual[bytes]));
}

static bool is_zstd(const char *encoding)
{
    return encoding && strcmp(encoding, "zstd") == 0;
}

#define ZSTD_HINT "if the server does not support zstd, set the exporter's compression to gzip"

static const char *http_hint(long status, const char *encoding)
{
    if (status >= 300 && status < 400)
        return "cuspan does not follow redirects; set the endpoint to the new location";
    switch (status) {
    case 400: /* also from servers that parse the body without decompressing it */
        return is_zstd(encoding) ? ZSTD_HINT : NULL;
    case 401:
    case 403:
        return "check the exporter's headers";
    case 404:
    case 405:
        return "check the endpoint's path, usually /v1/traces";
    case 407:
        return "add the user and password of the proxy to the URL in http_proxy";
    case 413:
        return "lower max_export_batch_size";
    case 415:
        return is_zstd(encoding) ? ZSTD_HINT : "check the exporter's encoding and compression";
    default:
        return NULL;
    }
}

static void take_plain_text(const struct transport_response *answer, struct verdict *verdict)
{
    size_t bytes =
        answer->body_bytes < sizeof verdict->message - 1 ? answer->body_bytes : sizeof verdict->message - 1;
    if (bytes > 0)
        memcpy(verdict->message, answer->body, bytes);
    verdict->message[bytes] = '\0';
}

static void take_response(const struct otlp_response *response, struct verdict *verdict)
{
    verdict->rejected_spans = response->rejected_spans;
    memcpy(verdict->message, response->message, sizeof verdict->message);
    verdict->delay_ns = response->retry_delay_ns;
}

/* False if it is not an OTLP response. */
static bool read_http_body(const struct transport *transport, const struct transport_response *answer,
                           bool accepted, struct verdict *verdict)
{
    struct otlp_response response = {0};
    bool understood = false;
    if (type_is(answer, "application/x-protobuf") || type_is(answer, "application/protobuf"))
        understood = accepted ? otlp_response_read_export(answer->body, answer->body_bytes, &response)
                              : otlp_response_read_status(answer->body, answer->body_bytes, &response);
    else if (type_is(answer, "application/json"))
        understood = transport->read_json(answer->body, answer->body_bytes, &response);
    else if (!accepted && type_is(answer, "text/plain"))
        take_plain_text(answer, verdict);
    if (understood)
        take_response(&response, verdict);
    return understood;
}

void verdict_http(const struct transport *transport, const struct transport_response *answer,
                  const char *encoding, struct verdict *verdict)
{
    long status = answer->http_status;
    bool accepted = status >= 200 && status < 300;
    *verdict = (struct verdict){
        .kind = accepted                    ? VERDICT_ACCEPTED
                : retry_http_status(status) ? VERDICT_RETRY
                                            : VERDICT_REFUSED,
        .hint = accepted ? NULL : http_hint(status, encoding),
    };
    snprintf(verdict->status, sizeof verdict->status, "HTTP %ld", status);

    if (!answer->broken_off && answer->body_bytes > 0) {
        bool understood = read_http_body(transport, answer, accepted, verdict);
        verdict->unreadable = accepted && !understood;
    }
    if (answer->retry_after_ns > 0)
        verdict->delay_ns = answer->retry_after_ns;
}

enum grpc_code {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16
};

/* gRPC's mapping, for responses from a proxy or a load balancer. */
static long grpc_code_of_http(long status)
{
    switch (status) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

/* OTLP's table of retryable codes; RESOURCE_EXHAUSTED only with RetryInfo. */
static bool grpc_retryable(long code, const struct otlp_response *details)
{
    const unsigned always = 1u << GRPC_CANCELLED | 1u << GRPC_DEADLINE_EXCEEDED | 1u << GRPC_ABORTED |
                            1u << GRPC_OUT_OF_RANGE | 1u << GRPC_UNAVAILABLE | 1u << GRPC_DATA_LOSS;
    if (code == GRPC_RESOURCE_EXHAUSTED)
        return details->has_retry_delay;
    return code >= 0 && code <= GRPC_UNAUTHENTICATED && (always >> code & 1);
}

static const char *grpc_hint(long code, const struct transport_response *answer, const char *encoding)
{
    if (!answer->grpc_status[0] && answer->http_status == 200)
        return "the response is not gRPC; check the endpoint, usually port 4317";
    switch (code) {
    case GRPC_UNIMPLEMENTED:
        if (is_zstd(encoding) && strstr(answer->grpc_message, "ecompress"))
            return ZSTD_HINT;
        return "the server does not implement OTLP/gRPC; check the endpoint, usually port 4317";
    case GRPC_PERMISSION_DENIED:
    case GRPC_UNAUTHENTICATED:
        return "check the exporter's headers";
    case GRPC_RESOURCE_EXHAUSTED:
        return "lower max_export_batch_size, or raise the collector's max_recv_msg_size_mib";
    default:
        return NULL;
    }
}

/* A status that is not a number must not count as OK. */
static long parse_grpc_status(const char *text)
{
    bool is_number = *text && text[strspn(text, "0123456789")] == '\0';
    return is_number ? strtol(text, NULL, 10) : GRPC_UNKNOWN;
}

static void read_grpc_ok(const struct transport_response *answer, struct verdict *verdict)
{
    struct otlp_response response = {0};
    const uint8_t *message;
    size_t bytes;
    if (grpc_unframe(answer->body, answer->body_bytes, &message, &bytes) &&
        otlp_response_read_export(message, bytes, &response))
        take_response(&response, verdict);
}

void verdict_grpc(const struct transport_response *answer, const char *encoding, struct verdict *verdict)
{
    *verdict = (struct verdict){0};
    bool is_grpc = strncasecmp(answer->content_type, "application/grpc", 16) == 0; /* also with "+proto" */
    if (answer->http_status == 200 && !answer->grpc_status[0] && is_grpc) {
        /* The trailers are missing: for example, the server restarts, and libcurl 7.88 cancels the stream on
         * GOAWAY. Whether the spans were accepted is unknown. */
        verdict->kind = VERDICT_RETRY;
        snprintf(verdict->status, sizeof verdict->status, "gRPC's response ended before its status");
        return;
    }
    long code = answer->grpc_status[0]       ? parse_grpc_status(answer->grpc_status)
                : answer->http_status == 200 ? GRPC_UNKNOWN
                                             : grpc_code_of_http(answer->http_status);
    if (answer->grpc_status[0] || answer->http_status == 200)
        snprintf(verdict->status, sizeof verdict->status, "gRPC %s", verdict->code = grpc_code_name(code));
    else
        snprintf(verdict->status, sizeof verdict->status, "HTTP %ld", answer->http_status);
    if (code == GRPC_OK) {
        read_grpc_ok(answer, verdict);
        return;
    }
    struct otlp_response details = {0};
    uint8_t bytes[sizeof answer->grpc_details];
    size_t count;
    if (answer->grpc_details[0] && grpc_base64_decode(answer->grpc_details, bytes, sizeof bytes, &count) &&
        otlp_response_read_status(bytes, count, &details))
        take_response(&details, verdict);
    if (answer->grpc_message[0])
        percent_decode(verdict->message, sizeof verdict->message, answer->grpc_message,
                       strlen(answer->grpc_message));
    if (answer->retry_after_ns > 0)
        verdict->delay_ns = answer->retry_after_ns;
    verdict->kind = grpc_retryable(code, &details) ? VERDICT_RETRY : VERDICT_REFUSED;
    verdict->hint = grpc_hint(code, answer, encoding);
}
