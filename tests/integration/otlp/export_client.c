/* Sends one trace with one span, encoded by hand, through the agent's exporter, and prints the counters. For
 * export_jaeger.sh.
 *
 *   export_client KIND ENDPOINT TRACE_ID SERVICE
 * [json|gzip|zstd|insecure|noverify|garbage|ca=FILE|cert=FILE|key=FILE]...
 */
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/export/exporter.h"
#include "agent/export/delivery/last_error.h"
#include "../../unit/support/batches.h"

#include <inttypes.h>
#include <stdio.h>

struct bytes {
    uint8_t data[4096];
    size_t count;
};

static void put(struct bytes *to, const void *from, size_t count)
{
    memcpy(to->data + to->count, from, count);
    to->count += count;
}

static void put_varint(struct bytes *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        to->data[to->count++] = (uint8_t)(value | 0x80);
    to->data[to->count++] = (uint8_t)value;
}

static void put_field(struct bytes *to, uint32_t number, const void *from, size_t count)
{
    put_varint(to, number << 3 | 2);
    put_varint(to, count);
    put(to, from, count);
}

static void put_message(struct bytes *to, uint32_t number, const struct bytes *message)
{
    put_field(to, number, message->data, message->count);
}

static void put_fixed64(struct bytes *to, uint32_t number, uint64_t value)
{
    put_varint(to, number << 3 | 1);
    put(to, &value, sizeof value);
}

static void put_attribute(struct bytes *to, uint32_t number, const char *key, const char *text)
{
    struct bytes value = {0};
    struct bytes attribute = {0};
    put_field(&value, 1, text, strlen(text));
    put_field(&attribute, 1, key, strlen(key));
    put_message(&attribute, 2, &value);
    put_message(to, number, &attribute);
}

static void make_protobuf(struct bytes *request, const char *trace_hex, const char *service, uint64_t now_ns)
{
    struct bytes span = {0};
    struct bytes scope_spans = {0};
    struct bytes resource = {0};
    struct bytes resource_spans = {0};
    uint8_t trace_id[16];
    for (int i = 0; i < 16; i++)
        sscanf(trace_hex + 2 * i, "%2hhx", &trace_id[i]);
    put_field(&span, 1, trace_id, 16);
    put_field(&span, 2, trace_id + 8, 8);
    put_field(&span, 5, "vector_add", 10);
    put_fixed64(&span, 7, now_ns);
    put_fixed64(&span, 8, now_ns + 1000);
    put_message(&scope_spans, 2, &span);
    put_attribute(&resource, 1, "service.name", service);
    put_attribute(&resource, 1, "host.id", "test");
    put_message(&resource_spans, 1, &resource);
    put_message(&resource_spans, 2, &scope_spans);
    put_message(request, 1, &resource_spans);
}

static void make_json(struct bytes *request, const char *trace_hex, const char *service, uint64_t now_ns)
{
    request->count =
        (size_t)snprintf((char *)request->data, sizeof request->data,
                         "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
                         "\"value\":{\"stringValue\":\"%s\"}},"
                         "{\"key\":\"host.id\",\"value\":{\"stringValue\":\"test\"}}]},\"scopeSpans\":[{"
                         "\"spans\":[{\"traceId\":\"%s\","
                         "\"spanId\":\"%.16s\",\"name\":\"vector_add\",\"startTimeUnixNano\":\"%" PRIu64
                         "\",\"endTimeUnixNano\":\"%" PRIu64 "\"}]}]}]}",
                         service, trace_hex, trace_hex + 16, now_ns, now_ns + 1000);
}

static bool read_option(char *option, struct exporter_settings *settings, bool *garbage)
{
    if (strcmp(option, "json") == 0)
        settings->encoding = ENCODING_JSON;
    else if (strcmp(option, "gzip") == 0)
        settings->compression = COMPRESSION_GZIP;
    else if (strcmp(option, "zstd") == 0)
        settings->compression = COMPRESSION_ZSTD;
    else if (strcmp(option, "insecure") == 0)
        settings->insecure = true;
    else if (strcmp(option, "noverify") == 0)
        settings->verify = false;
    else if (strcmp(option, "garbage") == 0)
        *garbage = true;
    else if (strncmp(option, "ca=", 3) == 0)
        settings->ca_file = option + 3;
    else if (strncmp(option, "cert=", 5) == 0)
        settings->client_certificate_file = option + 5;
    else if (strncmp(option, "key=", 4) == 0)
        settings->client_key_file = option + 4;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct chunk_pool *pool;
    struct exporter *exporter;
    struct bytes request = {0};
    bool garbage = false;
    if (argc < 5 || strlen(argv[3]) != 32 || chunk_pool_create(4, &pool) != STATUS_OK)
        return 2;
    const char *timeout = getenv("EXPORT_CLIENT_TIMEOUT_MS");
    uint32_t timeout_ms = timeout ? (uint32_t)atoi(timeout) : 2500;
    struct output_settings settings = {
        .queue_spans_max = 10,
        .export_timeout_ms = timeout_ms,
        .exporter = {.kind = strcmp(argv[1], "grpc") == 0 ? EXPORTER_OTLP_GRPC : EXPORTER_OTLP_HTTP,
                     .endpoint = argv[2],
                     .timeout_ms = 2 * timeout_ms,
                     .verify = true},
    };
    for (int i = 5; i < argc; i++)
        if (!read_option(argv[i], &settings.exporter, &garbage))
            return 2;
    bool json = settings.exporter.encoding == ENCODING_JSON;
    (json ? make_json : make_protobuf)(&request, argv[3], argv[4], clock_now_ns());
    if (garbage)
        memset(request.data, 'x', request.count);
    log_set_level(LOG_INFO);
    struct output_environment environment = {.module_path = CUSPAN_EXPORT_MODULE, .retry_initial_ms = 100};
    if (exporter_create(&settings, &environment, &exporter) != STATUS_OK)
        return 2;
    exporter_submit(exporter,
                    make_batch(pool, json ? BATCH_JSON : BATCH_PROTOBUF, request.data, request.count, 1));
    bool stopped = exporters_destroy(&exporter, 1, clock_monotonic_ns() + 4 * timeout_ms * NS_PER_MS);
    if (last_error_at_exit())
        fprintf(stderr, "%s\n", last_error_at_exit());
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (counter_get(i))
            printf("%s %" PRIu64 "\n", counter_name(i), counter_get(i));
    if (stopped)
        chunk_pool_destroy(pool);
    return stopped ? 0 : 1;
}
