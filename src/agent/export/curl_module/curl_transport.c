/* Implements transport.h with libcurl. Part of the export module only. */
#include "agent/export/otlp/transport.h"

#include "base/clock.h"
#include "base/limits.h"
#include "agent/export/curl_module/curl_explain.h"
#include "agent/export/curl_module/curl_sockets.h"
#include "agent/export/curl_module/json_response.h"
#include "agent/export/curl_module/module_libc.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define POLL_MS_MAX   1000
#define UPLOAD_BUFFER (128 * 1024)

struct connection {
    CURLM *multi;
    CURL *easy;
    _Atomic(struct curl_sockets *) sockets;
    struct transport_options options; /* also for new handles */
    char error[CURL_ERROR_SIZE];

    /* The current request. */
    const struct transport_request *request;
    struct transport_response *response;
    size_t part; /* read position in the body */
    size_t offset;
    bool is_again;         /* on another connection, because a kept one was closed */
    const char *too_large; /* an error message, or NULL */
    size_t header_bytes;
    size_t body_bytes; /* including those that are not kept */
    uint8_t body[RESPONSE_BYTES_KEPT];
};

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

/* libcurl rewinds the body if a reused connection turns out to be closed. The server may have received the
 * first request, so this counts as a repeat. */
static int seek_body(void *argument, curl_off_t offset, int origin)
{
    struct connection *connection = argument;
    if (origin != SEEK_SET || offset != 0)
        return CURL_SEEKFUNC_CANTSEEK;
    connection->part = connection->offset = 0;
    connection->response->repeated++;
    return CURL_SEEKFUNC_OK;
}

static size_t write_body(char *from, size_t size, size_t count, void *argument)
{
    struct connection *connection = argument;
    size_t bytes = size * count;
    size_t before = connection->body_bytes;
    if (bytes > RESPONSE_BYTES_MAX - before) {
        connection->too_large = "the response is larger than 4 MiB; check the endpoint";
        return 0;
    }
    if (before < RESPONSE_BYTES_KEPT) {
        size_t room = RESPONSE_BYTES_KEPT - before;
        memcpy(connection->body + before, from, bytes < room ? bytes : room);
    }
    connection->body_bytes += bytes;
    return bytes;
}
_Static_assert(RESPONSE_BYTES_MAX == 4 << 20, "the message above contains the limit");

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

/* Also called for trailers, which contain gRPC's status. */
static size_t read_header(char *line, size_t size, size_t count, void *argument)
{
    struct connection *connection = argument;
    struct transport_response *response = connection->response;
    size_t bytes = size * count;
    connection->header_bytes += bytes;
    if (connection->header_bytes > RESPONSE_HEADER_BYTES_MAX) {
        connection->too_large = "the response's headers are larger than 256 KiB; check the endpoint";
        return 0;
    }
    /* A status line: earlier headers belong to an interim response or to a proxy. */
    if (bytes >= 5 && memcmp(line, "HTTP/", 5) == 0)
        response->content_type[0] = response->grpc_status[0] = response->grpc_message[0] =
            response->grpc_details[0] = '\0';
    keep_header(line, bytes, "content-type", response->content_type, sizeof response->content_type);
    keep_header(line, bytes, "grpc-status", response->grpc_status, sizeof response->grpc_status);
    keep_header(line, bytes, "grpc-message", response->grpc_message, sizeof response->grpc_message);
    keep_header(line, bytes, "grpc-status-details-bin", response->grpc_details,
                sizeof response->grpc_details);
    return bytes;
}

static void fail(struct connection *connection, enum transport_result result, const char *why)
{
    struct transport_response *response = connection->response;
    response->result = result;
    snprintf(response->error, sizeof response->error, "%s", why);
}

static void read_status(struct connection *connection)
{
    struct transport_response *response = connection->response;
    curl_off_t seconds = 0;
    curl_easy_getinfo(connection->easy, CURLINFO_RESPONSE_CODE, &response->http_status);
    curl_easy_getinfo(connection->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0 && (uint64_t)seconds <= UINT64_MAX / NS_PER_SECOND)
        response->retry_after_ns = (uint64_t)seconds * NS_PER_SECOND;
}

/* The response is incomplete. If its status has arrived, it still counts, because an accepted request must
 * not be sent again. gRPC's status comes last, so it never has. */
static void cut_short(struct connection *connection, enum transport_result result)
{
    struct transport_response *response = connection->response;
    read_status(connection);
    response->broken_off = response->http_status >= 200 && !connection->options.http2;
    response->result = response->broken_off ? TRANSPORT_ANSWERED : result;
}

static void take_failure(struct connection *connection, CURLcode code)
{
    struct transport_response *response = connection->response;
    bool impossible =
        code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_NOT_BUILT_IN;
    if (connection->too_large) {
        fail(connection, TRANSPORT_TOO_LARGE, connection->too_large);
        return;
    }
    const char *key = connection->options.client_key_file;
    key = key ? key : connection->options.client_certificate_file;
    if (code != CURLE_SSL_CERTPROBLEM ||
        !curl_explain_locked_key(key, response->error, sizeof response->error))
        curl_explain_failure(connection->easy, code, connection->error, connection->options.http2,
                             response->error, sizeof response->error);
    cut_short(connection, impossible ? TRANSPORT_IMPOSSIBLE : TRANSPORT_UNREACHABLE);
}

static void read_result(struct connection *connection, CURLcode code)
{
    long version = 0;
    struct transport_response *response = connection->response;
    if (code != CURLE_OK) {
        take_failure(connection, code);
        return;
    }
    response->result = TRANSPORT_ANSWERED;
    read_status(connection);
    curl_easy_getinfo(connection->easy, CURLINFO_HTTP_VERSION, &version);
    if (connection->options.http2 && version < CURL_HTTP_VERSION_2_0)
        fail(connection, TRANSPORT_IMPOSSIBLE,
             "the server does not support HTTP/2, which gRPC requires; check the endpoint");
    response->body = connection->body;
    response->body_bytes =
        connection->body_bytes < RESPONSE_BYTES_KEPT ? connection->body_bytes : RESPONSE_BYTES_KEPT;
}

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

/* libcurl opens another connection if it finds a kept one closed before or after it sends the body,
 * but not in between. */
static bool send_again(struct connection *connection, CURLcode code)
{
    long connects = 1;
    curl_easy_getinfo(connection->easy, CURLINFO_NUM_CONNECTS, &connects);
    if (code != CURLE_SEND_ERROR || connects != 0 || connection->header_bytes || connection->is_again)
        return false;
    connection->is_again = true;
    connection->part = connection->offset = 0;
    connection->error[0] = '\0';
    connection->response->repeated++;
    curl_multi_remove_handle(connection->multi, connection->easy);
    return curl_multi_add_handle(connection->multi, connection->easy) == CURLM_OK;
}

static void drive(struct connection *connection)
{
    const struct transport_request *request = connection->request;
    for (;;) {
        int running;
        CURLcode code;
        if (!curl_sockets_are_ours(connection->sockets)) {
            fail(connection, TRANSPORT_UNREACHABLE, "the program has closed the connection's descriptors");
            return;
        }
        CURLMcode failed = curl_multi_perform(connection->multi, &running);
        if (finished(connection, &code)) {
            if (send_again(connection, code))
                continue;
            read_result(connection, code);
            return;
        }
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t left_ms =
            request->deadline_ns > now_ns ? (request->deadline_ns - now_ns) / NS_PER_MS + 1 : 0;
        if (atomic_load_explicit(request->aborted, memory_order_acquire)) {
            fail(connection, TRANSPORT_ABORTED, "aborted");
            cut_short(connection, TRANSPORT_ABORTED);
            return;
        }
        if (failed) {
            fail(connection, TRANSPORT_UNREACHABLE, curl_multi_strerror(failed));
            return;
        }
        if (left_ms == 0) {
            curl_explain_timeout(connection->easy, connection->response->error,
                                 sizeof connection->response->error);
            cut_short(connection, TRANSPORT_UNREACHABLE);
            return;
        }
        curl_sockets_wait(connection->sockets, connection->multi,
                          left_ms < POLL_MS_MAX ? (int)left_ms : POLL_MS_MAX);
    }
}

static bool make_header_list(const struct transport_request *request, struct curl_slist **list)
{
    /* Otherwise libcurl sends "Expect: 100-continue" before a large body and waits. */
    *list = curl_slist_append(NULL, "Expect:");
    for (const char *const *line = request->headers; *list && *line; line++) {
        struct curl_slist *longer = curl_slist_append(*list, *line);
        if (!longer)
            curl_slist_free_all(*list);
        *list = longer;
    }
    return *list;
}

static void begin_request(struct connection *connection, const struct transport_request *request,
                          struct transport_response *response)
{
    memset(response, 0, sizeof *response);
    connection->request = request;
    connection->response = response;
    connection->part = connection->offset = 0;
    connection->is_again = false;
    connection->too_large = NULL;
    connection->error[0] = '\0';
    connection->header_bytes = connection->body_bytes = 0;
}

static enum status make_handles(struct connection *connection);

static void connection_send(struct connection *connection, const struct transport_request *request,
                            struct transport_response *response)
{
    struct curl_slist *headers;
    begin_request(connection, request, response);
    /* If the host has closed our descriptors, the old handles leak: freeing them would close descriptors that
     * now belong to the host, and TLS would write a close_notify to them. */
    bool is_ready = curl_sockets_are_ours(connection->sockets) || make_handles(connection) == STATUS_OK;
    if (!is_ready || !make_header_list(request, &headers)) {
        fail(connection, TRANSPORT_UNREACHABLE, "out of memory");
        return;
    }
    curl_easy_setopt(connection->easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->bytes);
    if (curl_multi_add_handle(connection->multi, connection->easy) == CURLM_OK) {
        drive(connection);
        curl_off_t sent = 0;
        curl_easy_getinfo(connection->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
        response->bytes_sent = (uint64_t)sent;
        connection->request = NULL;
        connection->response = NULL;
        if (!curl_sockets_are_ours(connection->sockets))
            return; /* the headers leak, too: the old handle refers to them */
        curl_multi_remove_handle(connection->multi, connection->easy);
    } else {
        fail(connection, TRANSPORT_UNREACHABLE, "out of memory");
    }
    curl_easy_setopt(connection->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
}

static void connection_wake(struct connection *connection)
{
    curl_sockets_wake(connection->sockets);
}

static void connection_destroy(struct connection *connection)
{
    if (!connection)
        return;
    struct curl_sockets *sockets = connection->sockets;
    if (sockets && curl_sockets_are_ours(sockets)) {
        curl_easy_cleanup(connection->easy);
        curl_multi_cleanup(connection->multi);
        curl_sockets_deinit(sockets);
        free(sockets);
    }
    transport_options_free(&connection->options);
    free(connection);
}

/* Our libcurl was built on another machine, so its built-in path of the CA bundle may be wrong. */
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
    const char *named = module_libc_variable("SSL_CERT_FILE");
    if (named)
        return named;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

static const char *find_authority_folder(void)
{
    const char *named = module_libc_variable("SSL_CERT_DIR");
    if (named)
        return named;
    return access("/etc/ssl/certs", R_OK) == 0 ? "/etc/ssl/certs" : NULL;
}

static void set_tls(CURL *easy, const struct transport_options *options)
{
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->verify ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->verify ? 2L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (options->ca_file) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    } else {
        curl_easy_setopt(easy, CURLOPT_CAINFO, find_authorities());
        curl_easy_setopt(easy, CURLOPT_CAPATH, find_authority_folder());
    }
    /* ca_file does not apply to a proxy. */
    curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, find_authorities());
    curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, find_authority_folder());
    /* Otherwise OpenSSL would ask for the pass phrase of a key on the host's terminal. */
    curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
    if (options->client_certificate_file)
        curl_easy_setopt(easy, CURLOPT_SSLCERT, options->client_certificate_file);
    if (options->client_key_file)
        curl_easy_setopt(easy, CURLOPT_SSLKEY, options->client_key_file);
}

static void set_http(CURL *easy, const struct transport_options *options)
{
    /* 2TLS: ALPN with fallback to 1.1, and 1.1 without TLS. */
    bool prior_knowledge = options->http2 && strncasecmp(options->url, "http://", 7) == 0;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     prior_knowledge ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS);
    /* libcurl 7.88 cannot reuse an HTTP/2 connection without TLS: "Error in the HTTP2 framing layer". */
    unsigned version = curl_version_info(CURLVERSION_NOW)->version_num;
    bool may_reuse = !prior_knowledge || version < 0x075800 || version >= 0x080000;
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, may_reuse ? 0L : 1L);
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
    /* Resolve names for each connection, to find a collector that has moved. */
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* An aborted request does not wait for the resolver thread. */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    /* HTTP/2 without TLS passes a proxy only through a tunnel. The proxy's CONNECT response is not the
     * server's. */
    curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, options->http2 ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

/* libcurl would read the variables for each request. */
static void set_proxy(CURL *easy, const struct transport_options *options)
{
    const char *name = curl_explain_proxy_variable(options->url), *direct = module_libc_variable("no_proxy");
    direct = direct ? direct : module_libc_variable("NO_PROXY");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, direct ? direct : "");
    curl_easy_setopt(easy, CURLOPT_PROXY, name ? module_libc_variable(name) : "");
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

static void discard(CURLM *multi, CURL *easy, struct curl_sockets *sockets)
{
    curl_easy_cleanup(easy);
    if (multi)
        curl_multi_cleanup(multi);
    if (sockets)
        curl_sockets_deinit(sockets);
    free(sockets);
}

/* Does not free the previous sockets: connection_wake may be using them. */
static enum status make_handles(struct connection *connection)
{
    struct curl_sockets *sockets = calloc(1, sizeof *sockets);
    if (sockets)
        curl_sockets_init(sockets);
    CURLM *multi = curl_multi_init();
    CURL *easy = curl_easy_init();
    if (!sockets || !multi || !easy ||
        curl_easy_setopt(easy, CURLOPT_URL, connection->options.url) != CURLE_OK) {
        discard(multi, easy, sockets);
        return STATUS_NO_MEMORY;
    }
    connection->multi = multi;
    connection->easy = easy;
    connection->sockets = sockets;
    curl_sockets_follow(sockets, easy);
    set_callbacks(connection);
    set_http(easy, &connection->options);
    set_proxy(easy, &connection->options);
    set_tls(easy, &connection->options);
    return STATUS_OK;
}

static enum status connection_create(struct transport_options *options, struct connection **connection)
{
    struct connection *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->options = *options;
    if (make_handles(made) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    *options = (struct transport_options){0};
    *connection = made;
    return STATUS_OK;
}

/* Ours or the system's OpenSSL; NULL if libcurl uses another TLS library. */
extern int OPENSSL_init_crypto(uint64_t options, const void *settings) __attribute__((weak));
#ifdef CUSPAN_OWN_TLS
extern const void *UI_null(void);
extern void UI_set_default_method(const void *method);
#endif
#define OPENSSL_NO_LOAD_CONFIG 0x00000080ull
#define OPENSSL_NO_ATEXIT      0x00080000ull

static void initialize(void)
{
    /* No exit handler: it would run before the agent's, because it is registered later, and clean up OpenSSL
     * while a thread still sends. Only the first initialization counts: libcurl's has no effect, and a host
     * that initialized a shared OpenSSL earlier has registered a handler that runs late enough.
     * No openssl.cnf for our own OpenSSL: the file may load modules of the host's. */
    uint64_t options = OPENSSL_NO_ATEXIT;
#ifdef CUSPAN_OWN_TLS
    options |= OPENSSL_NO_LOAD_CONFIG;
#endif
    if (OPENSSL_init_crypto)
        OPENSSL_init_crypto(options, NULL);
#ifdef CUSPAN_OWN_TLS
    UI_set_default_method(UI_null()); /* it asks nobody, whatever it is asked for */
#endif
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

__attribute__((visibility("default"))) const struct transport *
cuspan_transport(const char *(*variable)(const char *name))
{
    static const struct transport transport = {
        .version = TRANSPORT_VERSION,
        .connection_create = connection_create,
        .connection_send = connection_send,
        .connection_wake = connection_wake,
        .connection_destroy = connection_destroy,
        .read_json = json_response_read,
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    module_libc_set_variables(variable);
    pthread_once(&once, initialize);
    return &transport;
}
