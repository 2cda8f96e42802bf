/* The boundary between the agent and libcuspan-export.so, which carries libcurl, its TLS library and cJSON.
 *
 * The module exports one function, cuspan_transport(), which returns this table. Both sides come from one
 * build; the version guards against a module left over from another. The module logs nothing and knows no
 * settings: it gets one request and says what came of it. */
#ifndef CUSPAN_EXPORT_OTLP_TRANSPORT_H
#define CUSPAN_EXPORT_OTLP_TRANSPORT_H

#include "base/status.h"
#include "export/otlp/otlp_response.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define TRANSPORT_VERSION 2

struct connection;

struct transport_options {
    const char *url; /* all strings are copied */
    const char *ca_file;
    const char *client_certificate_file;
    const char *client_key_file;
    bool verify;
    bool http2; /* nothing less will do: gRPC */
};

struct transport_request {
    const char *const *headers; /* "Name: value", NULL at the end */
    const struct iovec *parts;  /* the body */
    size_t part_count;
    uint64_t bytes;
    uint64_t deadline_ns;       /* clock_monotonic_ns; UINT64_MAX: none */
    const atomic_bool *aborted; /* looked at whenever connection_wake is called */
};

enum transport_result {
    TRANSPORT_ANSWERED,    /* with whatever status; its end may be missing (broken_off) */
    TRANSPORT_UNREACHABLE, /* no connection, or no answer: worth another try */
    TRANSPORT_ABORTED,
    TRANSPORT_IMPOSSIBLE, /* this URL can't be asked, now or later */
    TRANSPORT_TOO_LARGE /* the answer exceeds RESPONSE_BYTES_MAX, or its headers RESPONSE_HEADER_BYTES_MAX */
};

/* Texts are as they came, NUL-terminated and cut. */
struct transport_response {
    enum transport_result result;
    char error[512]; /* unless ANSWERED and whole: why; a server's words may be among it */
    bool broken_off; /* the status has come, and then not all of the rest. Not with gRPC, whose status comes
                        last */
    long http_status;
    char content_type[96];
    char retry_after[64];
    char grpc_status[16];
    char grpc_message[1024];
    char grpc_details[4096]; /* grpc-status-details-bin: base64 */
    const uint8_t *body;     /* the connection's, until its next request; cut at RESPONSE_BYTES_KEPT */
    size_t body_bytes;       /* RESPONSE_BYTES_KEPT at most */
    uint64_t bytes_sent;     /* of the request's body */
    uint32_t repeated;       /* how often the body went out again by itself, over a new connection */
};

struct transport {
    int version;
    enum status (*connection_create)(const struct transport_options *options, struct connection **connection);
    void (*connection_send)(struct connection *connection, const struct transport_request *request,
                            struct transport_response *response);
    /* The one call that may come from another thread. */
    void (*connection_wake)(struct connection *connection);
    void (*connection_destroy)(struct connection *connection);
    /* An ExportTraceServiceResponse or a google.rpc.Status in JSON. False when it is neither. */
    bool (*read_json)(const uint8_t *text, size_t bytes, struct otlp_response *response);
};

/* Loads the module. NOT_FOUND, or UNSUPPORTED for one of another build; `err` names the file and what to do.
 * Takes 3 to 15 ms: for threads of ours only. The module is never unloaded: its libraries keep thread-local
 * state. */
enum status transport_load(const char *path, const struct transport **transport,
                           struct error *err) MUST_CHECK;

#define TRANSPORT_SYMBOL "cuspan_transport"
const struct transport *cuspan_transport(void);

#endif
