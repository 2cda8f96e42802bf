/* The real sender with the real module against a real server. CUSPAN_EXPORT_MODULE is the module's path. */
#include "agent/export/exporter.h"
#include "agent/export/delivery/last_error.h"
#include "agent/export/spool/spool_format.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "support/batches.h"
#include "support/one_exporter.h"
#include "support/http_server.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define PATIENCE_MS 60000 /* a test that reaches it has failed */
#define RETRY_MS    5

#define SPANS    7
#define MEBIBYTE (1024ul * 1024)

static struct chunk_pool *pool;
static char url[128];

static atomic_bool resolver_released;

/* Replaces libc's: one name takes until the test releases it. */
__attribute__((visibility("default"))) int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **addresses)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name && strcmp(name, "slow.invalid") == 0) {
        while (!atomic_load(&resolver_released))
            usleep(1000);
        return EAI_NONAME;
    }
    return next(name, service, hints, addresses);
}

static int setup(void **state)
{
    counters_reset();
    log_set_level(LOG_INFO);
    return chunk_pool_create(128, &pool) == STATUS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    bool all_back = chunk_pool_free(pool) == chunk_pool_size(pool);
    chunk_pool_destroy(pool);
    return all_back ? 0 : -1;
}

static struct output_settings settings_for(int port)
{
    snprintf(url, sizeof url, "http://user:hunter2@127.0.0.1:%d/v1/traces?token=hunter2", port);
    return (struct output_settings){
        .queue_spans_max = 1000,
        .export_timeout_ms = PATIENCE_MS,
        .exporter = {.kind = EXPORTER_OTLP_HTTP, .endpoint = url, .timeout_ms = PATIENCE_MS, .verify = true},
    };
}

static struct exporter *start(const struct output_settings *settings)
{
    struct output_environment environment = {
        .module_path = CUSPAN_EXPORT_MODULE, .retry_initial_ms = RETRY_MS, .stop_grace_ms = PATIENCE_MS};
    struct exporter *exporter;
    assert_int_equal(exporter_create(settings, &environment, &exporter), STATUS_OK);
    return exporter;
}

static uint64_t in_ms(uint64_t ms)
{
    return clock_monotonic_ns() + ms * NS_PER_MS;
}

static void submit(struct exporter *exporter, const void *bytes, size_t count)
{
    exporter_submit(exporter, make_batch(pool, BATCH_PROTOBUF, bytes, count, SPANS));
}

/* Sends `batches` small batches to a server with the script; what was told on standard error, freed by the
 * caller. */
static char *send_batches(const struct output_settings *changes, const struct reply *script, size_t replies,
                          int batches, struct http_server **server)
{
    *server = http_server_start(script, replies);
    struct output_settings settings = settings_for(http_server_port(*server));
    if (changes)
        settings.export_timeout_ms = changes->export_timeout_ms,
        settings.exporter.timeout_ms = changes->exporter.timeout_ms;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    for (int i = 0; i < batches; i++)
        submit(exporter, "payload", 7);
    enum status flushed = exporter_flush(exporter, in_ms(PATIENCE_MS));
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_int_equal(flushed, STATUS_OK);
    assert_true(stopped);
    assert_null(strstr(told, "hunter2"));
    return told;
}

static void test_a_request_is_as_otlp_wants_it(void **state)
{
    const struct reply fine = {.status = 200};
    struct http_server *server;
    free(send_batches(NULL, &fine, 1, 1, &server));
    assert_int_equal(http_server_requests(server), 1);
    const struct request *request = http_server_request(server, 0);
    assert_ptr_equal(strstr(request->head, "POST /v1/traces?token=hunter2 HTTP/1.1\r\n"), request->head);
    assert_string_equal(request_header(request, "content-type"), "application/x-protobuf");
    assert_string_equal(request_header(request, "user-agent"),
                        "cuspan/" CUSPAN_VERSION " OTel-OTLP-Exporter-C/" CUSPAN_VERSION);
    assert_null(request_header(request, "expect"));
    assert_null(request_header(request, "content-encoding"));
    assert_null(request_header(request, "transfer-encoding"));
    assert_int_equal(request->body_bytes, 7);
    assert_memory_equal(request->body, "payload", 7);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
    assert_int_equal(counter_get(COUNTER_batches_sent), 1);
    assert_int_equal(counter_get(COUNTER_bytes_sent), 7);
    assert_int_equal(counters_lost(), 0);
}

static void test_json_and_headers_of_the_user(void **state)
{
    const struct reply fine = {
        .status = 200, .headers = "Content-Type: application/json\r\n", .body = "{}", .body_bytes = 2};
    struct http_server *server = http_server_start(&fine, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct header header = {"x-api-key", "s3cret"};
    settings.exporter.headers = &header;
    settings.exporter.header_count = 1;
    struct exporter *exporter = start(&settings);
    exporter_submit(exporter, make_batch(pool, BATCH_JSON, "{}", 2, SPANS));
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    assert_string_equal(request_header(http_server_request(server, 0), "content-type"), "application/json");
    assert_string_equal(request_header(http_server_request(server, 0), "x-api-key"), "s3cret");
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_one_connection_serves_many_requests(void **state)
{
    const struct reply fine = {.status = 200};
    struct http_server *server;
    free(send_batches(NULL, &fine, 1, 10, &server));
    assert_int_equal(http_server_requests(server), 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(http_server_request(server, i)->connection, 0);
    http_server_stop(server);
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* Whether the spool has room for a batch of this size. */
static bool is_spooled(struct exporter *exporter, size_t bytes)
{
    static const char body[MEBIBYTE];
    uint64_t spooled = counter_get(COUNTER_spans_spooled), full = counter_get(COUNTER_lost_spool_full);
    uint64_t until_ns = in_ms(PATIENCE_MS);
    submit(exporter, body, bytes);
    while (counter_get(COUNTER_spans_spooled) == spooled && counter_get(COUNTER_lost_spool_full) == full) {
        assert_true(clock_monotonic_ns() < until_ns); /* otherwise it was sent from memory */
        usleep(1000);
    }
    return counter_get(COUNTER_spans_spooled) > spooled;
}

static void test_a_full_spool_is_logged_once(void **state)
{
    const struct reply script[] = {{.status = 200, .hold = true}, {.status = 200}};
    struct http_server *server = http_server_start(script, 2);
    struct output_settings settings = settings_for(http_server_port(server));
    char folder[] = "/tmp/cuspan_sender_test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    settings.spool_directory = folder;
    settings.spool_bytes_max = 4 * MEBIBYTE;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    for (int i = 0; i < 3; i++)
        assert_true(is_spooled(exporter, MEBIBYTE));
    for (int i = 0; i < 3; i++) {
        assert_false(is_spooled(exporter, MEBIBYTE));
        assert_true(is_spooled(exporter, 1000));
    }
    http_server_release(server);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    while (!is_spooled(exporter, MEBIBYTE)) /* the directory is listed five times per second at most */
        continue;
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *told = stderr_end();
    const char *full = strstr(told, "is full"), *again = strstr(told, "are written to the spool");
    assert_non_null(full);
    assert_null(strstr(full + 1, "is full"));
    assert_non_null(again);
    assert_true(full < again);
    assert_null(strstr(again + 1, "are written to the spool"));
    free(told);
    http_server_stop(server);
    remove_folder(folder);
}

/* As programs do that become daemons. Without close(), which ThreadSanitizer checks against the spool's
 * thread. */
static void close_files_in(const char *folder)
{
    char link[64], target[200];
    DIR *entries = opendir("/proc/self/fd");
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
        ssize_t bytes = readlink(link, target, sizeof target - 1);
        if (bytes > 0 && (target[bytes] = 0, strncmp(target, folder, strlen(folder)) == 0))
            syscall(SYS_close, atoi(entry->d_name));
    }
    closedir(entries);
}

/* The program closes the spool's files during the first of three requests. If `are_taken`, another process
 * delivers and removes meanwhile what waits. Returns the number of requests. */
static size_t close_during_a_request(bool are_taken)
{
    const struct reply script[] = {{.status = 200, .hold = true}, {.status = 200}};
    struct http_server *server = http_server_start(script, 2);
    struct output_settings settings = settings_for(http_server_port(server));
    char folder[] = "/tmp/cuspan_sender_test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    settings.spool_directory = folder;
    settings.spool_bytes_max = 4 * MEBIBYTE;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    assert_true(is_spooled(exporter, 1000));
    http_server_wait(server, 1);
    assert_true(is_spooled(exporter, 1001));
    close_files_in(folder);
    if (are_taken) {
        remove_folder(folder);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    assert_true(is_spooled(exporter, 1002));
    http_server_release(server);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *told = stderr_end();
    assert_string_equal(told, "");
    free(told);
    size_t requests = http_server_requests(server);
    for (size_t i = 0; i < requests; i++)
        assert_int_equal(http_server_request(server, i)->body_bytes, are_taken ? 1000 + 2 * i : 1000 + i);
    http_server_stop(server);
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
    return requests;
}

/* The ledger of the only source in the folder. */
static struct spool_ledger read_ledger(const char *folder)
{
    char path[300];
    uint8_t bytes[SPOOL_LEDGER_BYTES];
    struct spool_ledger ledger = {0};
    DIR *entries = opendir(folder);
    struct dirent *entry;
    while ((entry = readdir(entries)))
        if (strstr(entry->d_name, ".ledger"))
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(entries);
    int fd = open(path, O_RDONLY);
    ssize_t have = read(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(have > 0 && spool_format_read_ledger(bytes, (size_t)have, &ledger));
    return ledger;
}

/* After a kill, the next process computes from it how many are lost. */
static void test_a_spool_of_metrics_counts_data_points(void **state)
{
    const struct reply held = {.status = 200, .hold = true};
    struct http_server *server = http_server_start(&held, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    char folder[] = "/tmp/cuspan_sender_test.XXXXXX";
    assert_non_null(mkdtemp(folder));
    settings.signal = SIGNAL_METRICS;
    settings.spool_directory = folder;
    settings.spool_bytes_max = 4 * MEBIBYTE;
    struct output_environment environment = {.module_path = CUSPAN_EXPORT_MODULE,
                                             .retry_initial_ms = RETRY_MS,
                                             .stop_grace_ms = PATIENCE_MS,
                                             .output = METRICS_OUTPUT};
    struct exporter *exporter;
    counter_add(COUNTER_spans_created, 1000);
    counter_add(COUNTER_points_made, SPANS + 1);
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    submit(exporter, "payload", 7);
    http_server_wait(server, 1);
    assert_int_equal(read_ledger(folder).made, SPANS + 1);
    http_server_release(server);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    http_server_stop(server);
    assert_int_equal(rmdir(folder), 0);
}

static void test_a_spool_whose_files_are_closed_is_delivered_once(void **state)
{
    assert_int_equal(close_during_a_request(false), 3);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 3 * SPANS);
    assert_int_equal(counter_get(COUNTER_spans_spooled_left), 0);
}

static void test_a_spool_that_another_process_takes_loses_nothing_new(void **state)
{
    assert_int_equal(close_during_a_request(true), 2);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 2 * SPANS);
    assert_int_equal(counter_get(COUNTER_spans_spooled_left), SPANS); /* the other process delivers them */
}

static void test_a_kept_connection_that_was_closed_is_opened_again(void **state)
{
    const struct reply script[] = {{.status = 200, .close = true}, {.status = 200}};
    struct http_server *server;
    char *told = send_batches(NULL, script, 2, 2, &server);
    assert_string_equal(told, "");
    free(told);
    assert_int_equal(http_server_requests(server), 2);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 2 * SPANS);
}

static void undo(const char *encoding, const struct request *request, uint8_t *to, size_t bytes)
{
    if (strcmp(encoding, "zstd") == 0) {
        assert_int_equal(ZSTD_decompress(to, bytes, request->body, request->body_bytes), bytes);
        return;
    }
    z_stream stream = {.next_in = request->body,
                       .avail_in = (uInt)request->body_bytes,
                       .next_out = to,
                       .avail_out = (uInt)bytes};
    assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, bytes);
    inflateEnd(&stream);
}

static void check_compressed(enum compression compression, const char *encoding)
{
    const struct reply slow = {.status = 200, .hold = true};
    struct http_server *server = http_server_start(&slow, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    settings.exporter.compression = compression;
    size_t bytes = 8 * CHUNK_BYTES;
    uint8_t *text = malloc(bytes);
    uint8_t *back = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (uint8_t)("cudaLaunchKernel"[i % 16] ^ (i >> 14));
    struct exporter *exporter = start(&settings);
    submit(exporter, text, bytes);
    http_server_wait(server, 1);
    assert_int_equal(chunk_pool_free(pool), chunk_pool_size(pool) - 1);
    http_server_release(server);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    const struct request *request = http_server_request(server, 0);
    assert_string_equal(request_header(request, "content-encoding"), encoding);
    undo(encoding, request, back, bytes);
    assert_memory_equal(text, back, bytes);
    assert_int_equal(counter_get(COUNTER_bytes_sent), request->body_bytes);
    http_server_stop(server);
    free(text);
    free(back);
}

/* libcurl opens another connection if it notices in time, but not while it sends the body. */
static void test_a_kept_connection_that_is_closed_during_the_body_is_opened_again(void **state)
{
    const struct reply script[] = {{.status = 200, .reset_next = true}, {.status = 200}};
    struct http_server *server = http_server_start(script, 2);
    struct output_settings settings = settings_for(http_server_port(server));
    size_t bytes = 120 * CHUNK_BYTES;
    uint8_t *text = calloc(1, bytes);
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    submit(exporter, text, bytes);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *told = stderr_end();
    assert_string_equal(told, "");
    assert_int_equal(http_server_requests(server), 2);
    assert_int_equal(http_server_request(server, 1)->body_bytes, bytes);
    assert_int_not_equal(http_server_request(server, 0)->connection,
                         http_server_request(server, 1)->connection);
    http_server_stop(server);
    free(text);
    free(told);
}

static void test_gzip_bodies_decode_and_give_their_chunks_back(void **state)
{
    check_compressed(COMPRESSION_GZIP, "gzip");
}

static void test_zstd_bodies_decode_and_give_their_chunks_back(void **state)
{
    check_compressed(COMPRESSION_ZSTD, "zstd");
}

static void test_a_server_that_refuses_zstd_is_told_with_what_to_do(void **state)
{
    const struct reply refusal = {.status = 415};
    struct http_server *server = http_server_start(&refusal, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    settings.exporter.compression = COMPRESSION_ZSTD;
    const uint8_t text[1000] = "zeros";
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, text, sizeof text);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *told = stderr_end();
    assert_non_null(strstr(told, "HTTP 415"));
    assert_non_null(strstr(told, "set the exporter's compression to gzip"));
    assert_int_equal(times_in(told, "\n"), 1);
    free(told);
    http_server_stop(server);
}

static void test_large_bodies_go_out_whole(void **state)
{
    const struct reply fine = {.status = 200};
    struct http_server *server = http_server_start(&fine, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    size_t bytes = 60 * CHUNK_BYTES + 123;
    uint8_t *text = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = (uint8_t)(i * 2654435761u >> 13);
    struct exporter *exporter = start(&settings);
    submit(exporter, text, bytes);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    assert_int_equal(http_server_requests(server), 1);
    assert_int_equal(http_server_request(server, 0)->body_bytes, bytes);
    assert_memory_equal(http_server_request(server, 0)->body, text, bytes);
    http_server_stop(server);
    free(text);
}

static void test_retryable_statuses_are_sent_again(void **state)
{
    const struct reply script[] = {
        {.status = 429}, {.status = 502}, {.status = 503}, {.status = 504}, {.status = 200}};
    struct http_server *server;
    char *told = send_batches(NULL, script, 5, 1, &server);
    assert_int_equal(http_server_requests(server), 5);
    for (size_t i = 0; i < 5; i++)
        assert_memory_equal(http_server_request(server, i)->body, "payload",
                            7); /* the same bytes each time */
    http_server_stop(server);
    assert_int_equal(times_in(told, "is not ready: HTTP 429"), 1);
    assert_int_equal(times_in(told, "works again"), 1);
    assert_int_equal(times_in(told, "\n"), 2);
    free(told);
    assert_int_equal(counter_get(COUNTER_batches_resent), 4);
    assert_int_equal(counter_get(COUNTER_batches_sent), 1);
    assert_int_equal(counter_get(COUNTER_bytes_sent), 35);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
    assert_int_equal(counters_lost(), 0);
}

static void test_other_statuses_are_final(void **state)
{
    static const int statuses[] = {301, 302, 307, 400, 401, 403, 404, 405, 408, 413, 415, 500, 501, 505};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        const struct reply script[] = {{.status = statuses[i], .headers = "Location: /elsewhere\r\n"},
                                       {.status = 200}};
        struct http_server *server;
        counters_reset();
        char *told = send_batches(NULL, script, 2, 1, &server);
        assert_int_equal(http_server_requests(server), 1);
        http_server_stop(server);
        assert_int_equal(times_in(told, "\n"), 1);
        assert_non_null(strstr(told, "refuses spans, which are lost: HTTP "));
        free(told);
        assert_int_equal(counter_get(COUNTER_lost_refused), SPANS);
        assert_int_equal(counter_get(COUNTER_batches_sent), 0);
    }
}

static void test_a_refusals_message_is_shown_once_on_one_line(void **state)
{
    const char status[] = "\x08\x03\x12\x11"
                          "bad\nspan \033[31m id";
    const struct reply script[] = {
        {.status = 400,
         .headers = "Content-Type: application/x-protobuf\r\n",
         .body = status,
         .body_bytes = sizeof status - 1},
        {.status = 400,
         .headers = "Content-Type: application/json\r\n",
         .body = "{\"message\":\"other\"}",
         .body_bytes = 19},
        {.status = 200},
        {.status = 400,
         .headers = "Content-Type: application/json\r\n",
         .body = "{\"message\":\"third\"}",
         .body_bytes = 19},
    };
    struct http_server *server;
    char *told = send_batches(NULL, script, 4, 4, &server);
    http_server_stop(server);
    assert_non_null(strstr(told, "HTTP 400: bad span ?[31m id"));
    assert_null(strstr(told, "other"));
    assert_null(strstr(told, "third")); /* within a minute of the first */
    assert_int_equal(times_in(told, "\n"), 2);
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_refused), 3 * SPANS);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_a_json_message_is_read(void **state)
{
    const char body[] = "{\"code\":3,\"message\":\"no such tenant\",\"details\":[]}";
    const struct reply script = {.status = 403,
                                 .headers = "Content-Type: application/json\r\n",
                                 .body = body,
                                 .body_bytes = sizeof body - 1};
    struct http_server *server;
    char *told = send_batches(NULL, &script, 1, 1, &server);
    http_server_stop(server);
    assert_non_null(strstr(told, "HTTP 403: no such tenant; check the exporter's headers"));
    free(told);
}

/* The log lines for a server that refuses with `body` when requests contain the header value `value`. */
static char *refuse_with(char *value, const char *body)
{
    const struct reply script = {
        .status = 401, .headers = "Content-Type: text/plain\r\n", .body = body, .body_bytes = strlen(body)};
    struct http_server *server = http_server_start(&script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct header header = {"x-token", value};
    settings.exporter.headers = &header;
    settings.exporter.header_count = 1;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    http_server_stop(server);
    assert_true(stopped);
    assert_non_null(strstr(told, "HTTP 401"));
    return told;
}

static void test_a_secret_in_a_message_is_not_shown(void **state)
{
    char value[] = "Bearer tok-123456";
    char *told = refuse_with(value, "bad key tok-123456");
    assert_null(strstr(told, "tok-123456"));
    free(told);
}

static void test_nor_is_a_secret_that_is_longer_than_the_message(void **state)
{
    char value[900];
    char body[1000];
    for (size_t i = 0; i < sizeof value - 1; i++)
        value[i] = "0123456789abcdef"[i * i % 13];
    memcpy(value, "Bearer tok-", 11);
    value[sizeof value - 1] = '\0';
    snprintf(body, sizeof body, "not accepted: %s", value);
    char *told = refuse_with(value, body);
    assert_null(strstr(told, "tok-"));
    free(told);
}

static void test_nor_are_the_urls_credentials(void **state)
{
    char value[] = "other";
    char *told = refuse_with(value, "Authorization: Basic dXNlcjpodW50ZXIy is wrong"); /* user:hunter2 */
    assert_null(strstr(told, "dXNlc"));
    free(told);
}

static void test_partial_success_counts_and_is_not_sent_again(void **state)
{
    const char protobuf[] = "\x0a\x08\x08\x03\x12\x04"
                            "full";
    const char json[] = "{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"full\"}}";
    const struct reply script[] = {
        {.status = 200,
         .headers = "Content-Type: application/x-protobuf\r\n",
         .body = protobuf,
         .body_bytes = sizeof protobuf - 1},
        {.status = 200,
         .headers = "Content-Type: application/json\r\n",
         .body = json,
         .body_bytes = sizeof json - 1},
    };
    struct http_server *server;
    char *told = send_batches(NULL, script, 2, 2, &server);
    assert_int_equal(http_server_requests(server), 2);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_lost_rejected), 5);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 2 * SPANS - 5);
    assert_int_equal(counter_get(COUNTER_batches_sent), 2);
    assert_int_equal(times_in(told, "rejected 3 of 7 spans: full"), 1);
    assert_int_equal(times_in(told, "\n"), 1);
    free(told);
}

/* A collector counts profiles, and cuspan samples. */
static void test_one_rejected_profile_is_the_loss_of_its_request(void **state)
{
    const char protobuf[] = "\x0a\x08\x08\x01\x12\x04"
                            "full";
    const struct reply script[] = {{.status = 200,
                                    .headers = "Content-Type: application/x-protobuf\r\n",
                                    .body = protobuf,
                                    .body_bytes = sizeof protobuf - 1}};
    struct http_server *server = http_server_start(script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    settings.signal = SIGNAL_PROFILES;
    struct output_environment environment = {.module_path = CUSPAN_EXPORT_MODULE,
                                             .retry_initial_ms = RETRY_MS,
                                             .stop_grace_ms = PATIENCE_MS,
                                             .output = PROFILES_OUTPUT};
    struct exporter *exporter;
    stderr_begin();
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    submit(exporter, "payload", 7);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *told = stderr_end();
    assert_int_equal(times_in(told, "rejected 7 of 7 samples: full"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_profile_samples), SPANS);
    assert_int_equal(counter_get(COUNTER_lost_rejected), 0);
    http_server_stop(server);
}

static void test_a_partial_success_without_rejections_is_a_warning(void **state)
{
    const char json[] = "{\"partialSuccess\":{\"errorMessage\":\"use the new path\"}}";
    const struct reply script = {.status = 200,
                                 .headers = "Content-Type: application/json\r\n",
                                 .body = json,
                                 .body_bytes = sizeof json - 1};
    struct http_server *server;
    char *told = send_batches(NULL, &script, 1, 3, &server);
    http_server_stop(server);
    assert_int_equal(times_in(told, "use the new path"), 1);
    assert_int_equal(times_in(told, "\n"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 3 * SPANS);
    assert_int_equal(counters_lost(), 0);
}

static void test_retry_after_in_seconds_is_obeyed(void **state)
{
    const struct reply script[] = {{.status = 503, .headers = "Retry-After: 1\r\n"}, {.status = 200}};
    struct http_server *server;
    uint64_t before_ns = clock_monotonic_ns();
    free(send_batches(NULL, script, 2, 1, &server));
    assert_true(clock_monotonic_ns() - before_ns >= NS_PER_SECOND);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_retry_after_as_a_date_is_obeyed(void **state)
{
    char header[96];
    time_t then = time(NULL) + 2;
    struct tm date;
    gmtime_r(&then, &date);
    strftime(header, sizeof header, "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n", &date);
    const struct reply script[] = {{.status = 429, .headers = header}, {.status = 200}};
    struct http_server *server;
    uint64_t before_ns = clock_monotonic_ns();
    free(send_batches(NULL, script, 2, 1, &server));
    assert_true(clock_monotonic_ns() - before_ns >= NS_PER_SECOND);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_a_server_that_asks_for_haste_gets_our_pauses(void **state)
{
    static const char *const headers[] = {"Retry-After: 0\r\n",
                                          "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const struct reply busy = {.status = 503, .headers = headers[i]};
        const struct reply script[] = {busy, busy, busy, {.status = 200}};
        struct http_server *server;
        uint64_t before_ns = clock_monotonic_ns();
        free(send_batches(NULL, script, 4, 1, &server));
        assert_true(clock_monotonic_ns() - before_ns >= (1 + 2 + 4) * RETRY_MS * NS_PER_MS / 2);
        assert_int_equal(http_server_requests(server), 4);
        http_server_stop(server);
    }
}

/* Returns the number of requests. */
static size_t end_with_the_export_timeout(uint32_t timeout_ms)
{
    const struct reply script = {.status = 503};
    struct http_server *server;
    counters_reset();
    uint64_t before_ns = clock_monotonic_ns();
    char *told =
        send_batches(&(struct output_settings){.export_timeout_ms = timeout_ms}, &script, 1, 1, &server);
    assert_true(clock_monotonic_ns() - before_ns >= timeout_ms * NS_PER_MS);
    size_t requests = http_server_requests(server);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_lost_unreachable), SPANS);
    assert_int_equal(times_in(told, "export_timeout"), 1);
    free(told);
    return requests;
}

static void test_retries_end_with_the_export_timeout(void **state)
{
    size_t requests = 0;
    /* A slow machine needs more time for the first retry. */
    for (uint32_t timeout_ms = 300; requests < 2 && timeout_ms < PATIENCE_MS; timeout_ms *= 2)
        requests = end_with_the_export_timeout(timeout_ms);
    assert_in_range(requests, 2, 20);
}

static void test_nobody_listening_is_told_once(void **state)
{
    struct output_settings settings = settings_for(free_port());
    settings.export_timeout_ms = 200;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    submit(exporter, "payload", 7);
    enum status flushed = exporter_flush(exporter, in_ms(PATIENCE_MS));
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_int_equal(flushed, STATUS_OK);
    assert_true(stopped);
    assert_int_equal(times_in(told, "cannot deliver to http://127.0.0.1:"), 1);
    assert_int_equal(times_in(told, "connection refused"), 1);
    assert_null(strstr(told, "hunter2"));
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_unreachable), 2 * SPANS);
    assert_int_equal(counter_get(COUNTER_bytes_sent), 0);
}

static void test_a_connection_closed_without_an_answer_is_retried(void **state)
{
    const struct reply script[] = {{.status = 0}, {.status = 200}};
    struct http_server *server;
    char *told = send_batches(NULL, script, 2, 1, &server);
    assert_int_equal(http_server_requests(server), 2);
    http_server_stop(server);
    assert_int_equal(times_in(told, "cannot deliver to"), 1);
    assert_int_equal(times_in(told, "works again"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_batches_resent), 1);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_a_slow_answer_is_waited_for(void **state)
{
    const struct reply script = {.status = 200, .hold = true};
    struct http_server *server = http_server_start(&script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    http_server_wait(server, 1);
    assert_int_equal(exporter_flush(exporter, in_ms(50)), STATUS_TIMEOUT);
    http_server_release(server);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    assert_int_equal(http_server_requests(server), 1);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_too_slow_an_answer_is_retried(void **state)
{
    const struct reply script[] = {{.hang = true}, {.status = 200}};
    struct http_server *server;
    struct output_settings changes = {.export_timeout_ms = PATIENCE_MS, .exporter = {.timeout_ms = 200}};
    char *told = send_batches(&changes, script, 2, 1, &server);
    assert_true(http_server_requests(server) >= 2);
    http_server_stop(server);
    assert_int_equal(times_in(told, "no response in time"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_an_answer_over_4_mib_is_an_error(void **state)
{
    const struct reply script[] = {{.status = 200, .filler_bytes = (4 << 20) + 1},
                                   {.status = 200, .filler_bytes = 4 << 20}};
    struct http_server *server;
    char *told = send_batches(NULL, script, 2, 2, &server);
    assert_int_equal(http_server_requests(server), 2);
    http_server_stop(server);
    assert_int_equal(times_in(told, "larger than 4 MiB"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_refused), SPANS);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_a_hanging_server_does_not_hold_up_the_end(void **state)
{
    const struct reply script = {.hang = true};
    struct http_server *server = http_server_start(&script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    submit(exporter, "payload", 7);
    http_server_wait(server, 1);
    assert_true(exporter_destroy(exporter, in_ms(100)));
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_lost_deadline), 2 * SPANS);
}

static void test_a_slow_resolver_does_not_hold_up_the_end(void **state)
{
    char slow[] = "http://slow.invalid:4318/v1/traces";
    struct output_settings settings = settings_for(1);
    settings.exporter.endpoint = slow;
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    bool stopped = exporter_destroy(exporter, in_ms(300));
    atomic_store(&resolver_released, true);
    assert_true(stopped);
    assert_int_equal(counter_get(COUNTER_lost_deadline), SPANS);
}

static void test_a_deadline_in_the_past_ends_at_once(void **state)
{
    const struct reply script = {.hang = true};
    struct http_server *server = http_server_start(&script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    http_server_wait(server, 1);
    assert_true(exporter_destroy(exporter, 0));
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_lost_deadline), SPANS);
}

static void test_a_dead_collector_costs_the_deadline_and_no_more(void **state)
{
    struct output_settings settings = settings_for(free_port());
    stderr_begin();
    struct exporter *exporter = start(&settings);
    for (int i = 0; i < 5; i++)
        submit(exporter, "payload", 7);
    bool stopped = exporter_destroy(exporter, in_ms(150));
    free(stderr_end());
    assert_true(stopped);
    assert_int_equal(counter_get(COUNTER_lost_deadline), 5 * SPANS);
}

/* Our pause is half an hour or more, so a delivery within the deadline proves that it was cut short. */
static void end_during_a_pause(const char *headers)
{
    char error[300];
    const struct reply script[] = {{.status = 503, .headers = headers}, {.status = 200}};
    struct http_server *server = http_server_start(script, 2);
    struct output_settings settings = settings_for(http_server_port(server));
    struct output_environment environment = {.module_path = CUSPAN_EXPORT_MODULE,
                                             .retry_initial_ms = 3600 * 1000};
    struct exporter *exporter;
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    stderr_begin();
    last_error_clear(0);
    submit(exporter, "payload", 7);
    while (!last_error_get(0, error, sizeof error))
        usleep(1000);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    free(stderr_end());
    assert_true(stopped);
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), SPANS);
}

static void test_a_pause_is_cut_short_at_the_end(void **state)
{
    end_during_a_pause(NULL);
}

static void test_so_is_ours_where_the_server_asked_for_a_shorter_one(void **state)
{
    end_during_a_pause("Retry-After: 3\r\n");
}

static void test_an_impossible_url_is_told_and_counted(void **state)
{
    char wrong[] = "gopher://user:hunter2@127.0.0.1/";
    struct output_settings settings = settings_for(1);
    settings.exporter.endpoint = wrong;
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_true(stopped);
    assert_int_equal(times_in(told, "gopher://127.0.0.1/ refuses"), 1);
    assert_null(strstr(told, "hunter2"));
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_refused), SPANS);
}

/* A gRPC exporter that meets a server of HTTP/1.1. */
static void test_a_server_without_http2_is_told(void **state)
{
    const struct reply script = {.status = 200};
    struct http_server *server = http_server_start(&script, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    settings.exporter.kind = EXPORTER_OTLP_GRPC;
    char error[300];
    last_error_clear(0);
    stderr_begin();
    struct exporter *exporter = start(&settings);
    submit(exporter, "payload", 7);
    while (!last_error_get(0, error, sizeof error))
        usleep(1000);
    bool stopped = exporter_destroy(exporter, 0);
    char *told = stderr_end();
    http_server_stop(server);
    assert_true(stopped);
    assert_int_equal(times_in(told, "HTTP/2"), 1);
    free(told);
    assert_int_equal(counters_lost(), SPANS);
}

static void test_several_exporters_share_the_module(void **state)
{
    const struct reply fine = {.status = 200};
    struct http_server *server = http_server_start(&fine, 1);
    struct output_settings settings = settings_for(http_server_port(server));
    struct exporter *exporters[4];
    for (int i = 0; i < 4; i++)
        exporters[i] = start(&settings);
    for (int i = 0; i < 40; i++)
        submit(exporters[i % 4], "payload", 7);
    for (int i = 0; i < 4; i++)
        assert_true(exporter_destroy(exporters[i], in_ms(PATIENCE_MS)));
    http_server_stop(server);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 40 * SPANS);
}

#define SENDER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SENDER_TEST(test_a_request_is_as_otlp_wants_it),
        SENDER_TEST(test_json_and_headers_of_the_user),
        SENDER_TEST(test_one_connection_serves_many_requests),
        SENDER_TEST(test_a_full_spool_is_logged_once),
        SENDER_TEST(test_a_spool_of_metrics_counts_data_points),
        SENDER_TEST(test_a_spool_whose_files_are_closed_is_delivered_once),
        SENDER_TEST(test_a_spool_that_another_process_takes_loses_nothing_new),
        SENDER_TEST(test_a_kept_connection_that_was_closed_is_opened_again),
        SENDER_TEST(test_a_kept_connection_that_is_closed_during_the_body_is_opened_again),
        SENDER_TEST(test_gzip_bodies_decode_and_give_their_chunks_back),
        SENDER_TEST(test_zstd_bodies_decode_and_give_their_chunks_back),
        SENDER_TEST(test_a_server_that_refuses_zstd_is_told_with_what_to_do),
        SENDER_TEST(test_large_bodies_go_out_whole),
        SENDER_TEST(test_retryable_statuses_are_sent_again),
        SENDER_TEST(test_other_statuses_are_final),
        SENDER_TEST(test_a_refusals_message_is_shown_once_on_one_line),
        SENDER_TEST(test_a_json_message_is_read),
        SENDER_TEST(test_a_secret_in_a_message_is_not_shown),
        SENDER_TEST(test_nor_is_a_secret_that_is_longer_than_the_message),
        SENDER_TEST(test_nor_are_the_urls_credentials),
        SENDER_TEST(test_partial_success_counts_and_is_not_sent_again),
        SENDER_TEST(test_a_partial_success_without_rejections_is_a_warning),
        SENDER_TEST(test_one_rejected_profile_is_the_loss_of_its_request),
        SENDER_TEST(test_retry_after_in_seconds_is_obeyed),
        SENDER_TEST(test_retry_after_as_a_date_is_obeyed),
        SENDER_TEST(test_a_server_that_asks_for_haste_gets_our_pauses),
        SENDER_TEST(test_retries_end_with_the_export_timeout),
        SENDER_TEST(test_nobody_listening_is_told_once),
        SENDER_TEST(test_a_connection_closed_without_an_answer_is_retried),
        SENDER_TEST(test_a_slow_answer_is_waited_for),
        SENDER_TEST(test_too_slow_an_answer_is_retried),
        SENDER_TEST(test_an_answer_over_4_mib_is_an_error),
        SENDER_TEST(test_a_hanging_server_does_not_hold_up_the_end),
        SENDER_TEST(test_a_slow_resolver_does_not_hold_up_the_end),
        SENDER_TEST(test_a_deadline_in_the_past_ends_at_once),
        SENDER_TEST(test_a_dead_collector_costs_the_deadline_and_no_more),
        SENDER_TEST(test_a_pause_is_cut_short_at_the_end),
        SENDER_TEST(test_so_is_ours_where_the_server_asked_for_a_shorter_one),
        SENDER_TEST(test_an_impossible_url_is_told_and_counted),
        SENDER_TEST(test_a_server_without_http2_is_told),
        SENDER_TEST(test_several_exporters_share_the_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
