/* The module: libcurl behind transport.h. Compiled into libcuspan-export.so alone. */
#include "export/transport.h"

#include "base/clock.h"
#include "base/limits.h"
#include "export/json_response.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

#define POLL_MS_MAX   1000
#define UPLOAD_BUFFER (128 * 1024)

struct connection {
    CURLM *multi;
    CURL *easy;
    bool http2;
    char error[CURL_ERROR_SIZE];

    /* Of the request under way. */
    const struct transport_request *request;
    struct transport_response *response;
    size_t part; /* where the body is read next */
    size_t offset;
    bool too_large;

    size_t body_bytes; /* of the answer; those that are kept: */
    uint8_t body[RESPONSE_BYTES_KEPT];
};

/* ---- what libcurl calls ---- */

static size_t read_body(char *to, size_t size, size_t count, void *argument)
{
    struct connection *connection = argument;
    const struct transport_request *request = connection->request;
    size_t room = size * count;
    size_t used = 0;
    while (used < room && connection->part < request->part_count) {
        const struct iovec *part = &request->parts[connection->part];
        size_t left = part->iov_len - connection->offset;
        size_t bytes = left < room - used ? left : room - used;
        memcpy(to + used, (const char *)part->iov_base + connection->offset, bytes);
        used += bytes;
        connection->offset += bytes;
        if (connection->offset == part->iov_len) {
            connection->part++;
            connection->offset = 0;
        }
    }
    return used;
}

/* libcurl goes back to the start when a kept connection turns out to be closed. */
static int seek_body(void *argument, curl_off_t offset, int origin)
{
    struct connection *connection = argument;
    if (origin != SEEK_SET || offset != 0)
        return CURL_SEEKFUNC_CANTSEEK;
    connection->part = connection->offset = 0;
    return CURL_SEEKFUNC_OK;
}

static size_t write_body(char *from, size_t size, size_t count, void *argument)
{
    struct connection *connection = argument;
    size_t bytes = size * count;
    if (bytes > RESPONSE_BYTES_MAX - connection->body_bytes) {
        connection->too_large = true;
        return 0;
    }
    if (connection->body_bytes < sizeof connection->body) {
        size_t room = sizeof connection->body - connection->body_bytes;
        memcpy(connection->body + connection->body_bytes, from, bytes < room ? bytes : room);
    }
    connection->body_bytes += bytes;
    return bytes;
}

static void keep_header(const char *line, size_t bytes, const char *name, char *to, size_t size)
{
    size_t name_bytes = strlen(name);
    if (bytes <= name_bytes || line[name_bytes] != ':' || strncasecmp(line, name, name_bytes) != 0)
        return;
    const char *value = line + name_bytes + 1;
    const char *end = line + bytes;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && isspace((unsigned char)end[-1]))
        end--;
    size_t length = (size_t)(end - value) < size - 1 ? (size_t)(end - value) : size - 1;
    memcpy(to, value, length);
    to[length] = '\0';
}

/* Headers, and after the body the trailers, in which gRPC has its status. */
static size_t read_header(char *line, size_t size, size_t count, void *argument)
{
    struct connection *connection = argument;
    struct transport_response *response = connection->response;
    size_t bytes = size * count;
    if (bytes >= 5 &&
        memcmp(line, "HTTP/", 5) == 0) /* a new answer: what came before was interim or a proxy's */
        response->content_type[0] = response->retry_after[0] = response->grpc_status[0] =
            response->grpc_message[0] = response->grpc_details[0] = '\0';
    keep_header(line, bytes, "content-type", response->content_type, sizeof response->content_type);
    keep_header(line, bytes, "retry-after", response->retry_after, sizeof response->retry_after);
    keep_header(line, bytes, "grpc-status", response->grpc_status, sizeof response->grpc_status);
    keep_header(line, bytes, "grpc-message", response->grpc_message, sizeof response->grpc_message);
    keep_header(line, bytes, "grpc-status-details-bin", response->grpc_details,
                sizeof response->grpc_details);
    return bytes;
}

/* ---- what came of it ---- */

static void explain_connect_failure(struct connection *connection, char *to, size_t size)
{
    long code = 0;
    curl_easy_getinfo(connection->easy, CURLINFO_OS_ERRNO, &code);
    if (code == 0) {
        snprintf(to, size, "%s", *connection->error ? connection->error : "no connection");
        return;
    }
    char reason[128];
    snprintf(to, size, "%s", strerror_r((int)code, reason, sizeof reason));
    to[0] = (char)tolower((unsigned char)to[0]);
}

static void explain(struct connection *connection, CURLcode code, struct transport_response *response)
{
    char *to = response->error;
    size_t size = sizeof response->error;
    const char *detail = *connection->error ? connection->error : curl_easy_strerror(code);
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        explain_connect_failure(connection, to, size);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        snprintf(to, size, "no answer in time");
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        snprintf(to, size, "the connection was closed before an answer came (%s)%s", detail,
                 connection->http2 ? "; is it a gRPC endpoint, which speaks HTTP/2?" : "");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        snprintf(to, size, "%s; ca_file (OTEL_EXPORTER_OTLP_CERTIFICATE) names the authority to trust",
                 detail);
        break;
    case CURLE_OUT_OF_MEMORY:
        snprintf(to, size, "out of memory");
        break;
    default:
        snprintf(to, size, "%s", detail);
    }
}

static enum transport_result result_of(const struct connection *connection, CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return TRANSPORT_ANSWERED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_NOT_BUILT_IN:
        return TRANSPORT_IMPOSSIBLE;
    default:
        return connection->too_large ? TRANSPORT_TOO_LARGE : TRANSPORT_UNREACHABLE;
    }
}

static void read_result(struct connection *connection, CURLcode code, struct transport_response *response)
{
    long version = 0;
    response->result = result_of(connection, code);
    if (response->result == TRANSPORT_TOO_LARGE)
        snprintf(response->error, sizeof response->error, "the answer is larger than %d MiB",
                 RESPONSE_BYTES_MAX >> 20);
    else if (code != CURLE_OK)
        explain(connection, code, response);
    curl_easy_getinfo(connection->easy, CURLINFO_RESPONSE_CODE, &response->http_status);
    curl_easy_getinfo(connection->easy, CURLINFO_HTTP_VERSION, &version);
    if (code == CURLE_OK && connection->http2 && version < CURL_HTTP_VERSION_2_0) {
        response->result = TRANSPORT_IMPOSSIBLE;
        snprintf(response->error, sizeof response->error,
                 "the server doesn't speak HTTP/2, which gRPC needs");
    }
    response->body = connection->body;
    response->body_bytes =
        connection->body_bytes < sizeof connection->body ? connection->body_bytes : sizeof connection->body;
}

static void no_answer(struct transport_response *response, enum transport_result result, const char *why)
{
    response->result = result;
    snprintf(response->error, sizeof response->error, "%s", why);
}

/* ---- a request ---- */

static bool finished(struct connection *connection, CURLcode *code)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(connection->multi, &left));) {
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return true;
        }
    }
    return false;
}

static void drive(struct connection *connection, struct transport_response *response)
{
    const struct transport_request *request = connection->request;
    for (;;) {
        int running;
        CURLcode code;
        CURLMcode failed = curl_multi_perform(connection->multi, &running);
        if (finished(connection, &code)) {
            read_result(connection, code, response);
            return;
        }
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ms =
            request->deadline_ns > now_ns ? (request->deadline_ns - now_ns) / NS_PER_MS + 1 : 0;
        if (atomic_load_explicit(request->aborted, memory_order_acquire)) {
            no_answer(response, TRANSPORT_ABORTED, "aborted");
            return;
        }
        if (failed || left_ms == 0) {
            no_answer(response, TRANSPORT_UNREACHABLE,
                      failed ? curl_multi_strerror(failed) : "no answer in time");
            return;
        }
        curl_multi_poll(connection->multi, NULL, 0, left_ms < POLL_MS_MAX ? (int)left_ms : POLL_MS_MAX, NULL);
    }
}

static bool make_header_list(const struct transport_request *request, struct curl_slist **list)
{
    /* Without this, libcurl asks first whether it may send a large body, and waits for an answer. */
    *list = curl_slist_append(NULL, "Expect:");
    for (const char *const *line = request->headers; *list && *line; line++) {
        struct curl_slist *longer = curl_slist_append(*list, *line);
        if (!longer)
            curl_slist_free_all(*list);
        *list = longer;
    }
    return *list;
}

static void begin(struct connection *connection, const struct transport_request *request,
                  struct transport_response *response)
{
    memset(response, 0, sizeof *response);
    connection->request = request;
    connection->response = response;
    connection->part = connection->offset = 0;
    connection->too_large = false;
    connection->error[0] = '\0';
    connection->body_bytes = 0;
}

static void connection_send(struct connection *connection, const struct transport_request *request,
                            struct transport_response *response)
{
    struct curl_slist *headers;
    begin(connection, request, response);
    if (!make_header_list(request, &headers)) {
        no_answer(response, TRANSPORT_UNREACHABLE, "out of memory");
        return;
    }
    curl_easy_setopt(connection->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->bytes);
    if (curl_multi_add_handle(connection->multi, connection->easy) == CURLM_OK) {
        drive(connection, response);
        curl_off_t sent = 0;
        curl_easy_getinfo(connection->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        response->bytes_sent = (uint64_t)sent;
        curl_multi_remove_handle(connection->multi, connection->easy);
    } else {
        no_answer(response, TRANSPORT_UNREACHABLE, "out of memory");
    }
    curl_easy_setopt(connection->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    connection->request = NULL;
    connection->response = NULL;
}

/* ---- a connection ---- */

static void connection_wake(struct connection *connection)
{
    curl_multi_wakeup(connection->multi);
}

static void connection_destroy(struct connection *connection)
{
    if (!connection)
        return;
    curl_easy_cleanup(connection->easy);
    curl_multi_cleanup(connection->multi);
    free(connection);
}

/* A libcurl of our own was built on another machine: where authorities lie is found here. */
static const char *find_authorities(void)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora, Red Hat, Amazon */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* the same, newer */
        "/etc/ssl/ca-bundle.pem",                            /* SUSE */
        "/etc/ssl/cert.pem",                                 /* Alpine, BSDs */
        "/usr/local/share/certs/ca-root-nss.crt",
    };
    const char *named = secure_getenv("SSL_CERT_FILE");
    if (named && *named)
        return named;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static const char *find_authority_folder(void)
{
    const char *named = secure_getenv("SSL_CERT_DIR");
    if (named && *named)
        return named;
    return access("/etc/ssl/certs", R_OK) == 0 ? "/etc/ssl/certs" : NULL;
}

static void set_tls(CURL *easy, const struct transport_options *options)
{
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->verify ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->verify ? 2L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (options->ca_file) {
        /* This authority and no other. */
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    } else {
        curl_easy_setopt(easy, CURLOPT_CAINFO, find_authorities());
        curl_easy_setopt(easy, CURLOPT_CAPATH, find_authority_folder());
    }
    if (options->client_certificate_file)
        curl_easy_setopt(easy, CURLOPT_SSLCERT, options->client_certificate_file);
    if (options->client_key_file)
        curl_easy_setopt(easy, CURLOPT_SSLKEY, options->client_key_file);
}

static void set_http(CURL *easy, const struct transport_options *options)
{
    long version = CURL_HTTP_VERSION_2TLS; /* by ALPN, with 1.1 to fall back to; 1.1 without TLS */
    if (options->http2 && strncasecmp(options->url, "http://", 7) == 0)
        version = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, version);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Don't wait for a name to be resolved when the request is aborted. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (getauxval(AT_SECURE)) /* proxies come from the environment, which a setuid host's user controls */
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_callbacks(struct connection *connection)
{
    CURL *easy = connection->easy;
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, connection);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, connection);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, connection);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, read_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, connection);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, connection->error);
}

static enum status connection_create(const struct transport_options *options, struct connection **connection)
{
    struct connection *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->multi = curl_multi_init();
    made->easy = curl_easy_init();
    made->http2 = options->http2;
    if (!made->multi || !made->easy || curl_easy_setopt(made->easy, CURLOPT_URL, options->url) != CURLE_OK) {
        curl_easy_cleanup(made->easy);
        if (made->multi)
            curl_multi_cleanup(made->multi);
        free(made);
        return STATUS_NO_MEMORY;
    }
    set_callbacks(made);
    set_http(made->easy, options);
    set_tls(made->easy, options);
    *connection = made;
    return STATUS_OK;
}

/* ---- the one function that leaves the module ---- */

/* OpenSSL's own, ours or the system's; NULL where libcurl has another TLS library. */
extern int OPENSSL_init_crypto(uint64_t options, const void *settings) __attribute__((weak));
#define OPENSSL_NO_LOAD_CONFIG 0x00000080ull
#define OPENSSL_NO_ATEXIT      0x00080000ull

static void initialize(void)
{
    /* No exit handler: registered here, late, it would run before the agent's own and take the library down
     * under the thread that still sends. First come, first served: libcurl's own call changes nothing, and
     * where the host has initialized a shared OpenSSL before, its handler was registered early and runs late.
     * No openssl.cnf for an OpenSSL of our own: it may name modules that belong to the host's. */
    uint64_t options = OPENSSL_NO_ATEXIT;
#ifdef CUSPAN_OWN_TLS
    options |= OPENSSL_NO_LOAD_CONFIG;
#endif
    if (OPENSSL_init_crypto)
        OPENSSL_init_crypto(options, NULL);
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

__attribute__((visibility("default"))) const struct transport *cuspan_transport(void)
{
    static const struct transport transport = {
        .version = TRANSPORT_VERSION,
        .connection_create = connection_create,
        .connection_send = connection_send,
        .connection_wake = connection_wake,
        .connection_destroy = connection_destroy,
        .read_json = json_read_response,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize);
    return &transport;
}
