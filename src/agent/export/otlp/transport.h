/* The interface between the agent and libcuspan-export.so, which contains libcurl, its TLS library and cJSON.
 *
 * The module exports one function, cuspan_transport(), which returns this table. Both come from the same
 * build; the version detects a module of another one. The module does not log and does not read settings. */
#pragma once

#include "base/status.h"
#include "agent/export/otlp/otlp_response.h"
#include "model/settings/settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define TRANSPORT_VERSION 5

struct connection;

struct transport_options {
    char *url;
    char *ca_file;
    char *client_certificate_file;
    char *client_key_file;
    bool verify;
    bool http2; /* required: gRPC */
};

static inline void transport_options_free(struct transport_options *options)
{
    free(options->url);
    free(options->ca_file);
    free(options->client_certificate_file);
    free(options->client_key_file);
    *options = (struct transport_options){0};
}

/* The options to send the signal, with copies of all strings. NO_MEMORY leaves them empty. */
enum status transport_options_init(struct transport_options *options,
                                   const struct exporter_settings *exporter, enum signal signal) MUST_CHECK;

struct transport_request {
    const char *const *headers; /* "Name: value", NULL at the end */
    const struct iovec *parts;  /* the body */
    size_t part_count;
    uint64_t bytes;
    uint64_t deadline_ns;       /* clock_monotonic_ns; UINT64_MAX: none */
    const atomic_bool *aborted; /* checked after connection_wake */
};

enum transport_result {
    TRANSPORT_ANSWERED,    /* with any status; the response may be incomplete (broken_off) */
    TRANSPORT_UNREACHABLE, /* no connection or no response: retry */
    TRANSPORT_ABORTED,
    TRANSPORT_IMPOSSIBLE, /* requests to this URL can never succeed */
    TRANSPORT_TOO_LARGE   /* the response exceeds RESPONSE_BYTES_MAX or RESPONSE_HEADER_BYTES_MAX */
};

/* Texts are not sanitized; they are NUL-terminated and truncated. */
struct transport_response {
    enum transport_result result;
    char error[512]; /* unless ANSWERED and complete; may contain text from the server */
    bool broken_off; /* incomplete after the status. Never with gRPC, whose status comes last */
    long http_status;
    char content_type[96];
    uint64_t retry_after_ns; /* header Retry-After: the delay until its time; 0: none */
    char grpc_status[16];
    char grpc_message[1024];
    char grpc_details[4096]; /* grpc-status-details-bin: base64 */
    const uint8_t *body;     /* owned by the connection, valid until its next request */
    size_t body_bytes;       /* truncated to RESPONSE_BYTES_KEPT */
    uint64_t bytes_sent;     /* of the request's body */
    uint32_t repeated;       /* times that libcurl sent the body again over a new connection */
};

struct transport {
    int version;
    /* Takes over the options, and empties them, unless it fails. */
    enum status (*connection_create)(struct transport_options *options, struct connection **connection);
    void (*connection_send)(struct connection *connection, const struct transport_request *request,
                            struct transport_response *response);
    /* May be called from another thread. */
    void (*connection_wake)(struct connection *connection);
    void (*connection_destroy)(struct connection *connection);
    /* Parses an ExportTraceServiceResponse or a google.rpc.Status in JSON. False if it is neither. */
    bool (*read_json)(const uint8_t *text, size_t bytes, struct otlp_response *response);
};

/* Loads the module. NOT_FOUND, or UNSUPPORTED if it is of another build. Takes 3 to 15 ms, so call it only on
 * agent threads. The module is never unloaded, because its libraries keep thread-local state. */
enum status transport_load(const char *path, const struct transport **transport,
                           struct error *err) MUST_CHECK;

#define TRANSPORT_SYMBOL "cuspan_transport"
/* `variable` is variables_get(): the module reads no variables otherwise. */
const struct transport *cuspan_transport(const char *(*variable)(const char *name));
