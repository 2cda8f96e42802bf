/* The connection to the server of one output, probed when a check first needs it. */
#pragma once

#include "agent/operate/doctor/doctor.h"

enum protocol { PROTOCOL_UNKNOWN, PROTOCOL_HTTP1, PROTOCOL_HTTP2, PROTOCOL_TLS };

struct reach {
    bool is_complete;   /* false: the child process failed; see failure */
    int resolve_error;  /* of getaddrinfo; 0: resolved */
    char address[64];   /* connected to, or the last one tried */
    unsigned addresses; /* of the host */
    bool is_connected;
    int connect_errno;
    uint64_t resolve_ns, connect_ns;
    enum protocol protocol; /* detected with an HTTP/1.1 request, the HTTP/2 preface, then a ClientHello */
    char first_line[128];   /* first line of an HTTP/1 response */
    char failure[64];
};

/* Probes a host and port with plain sockets, independently of any exporter: resolves the host, connects and
 * detects the protocol, in a child process. `path`: for the GET request. */
void reach_probe(const char *host, const char *port, const char *path, struct reach *reach);

struct collector {
    const struct exporter_settings *exporter;
    char url[512]; /* sanitized */
    char host[256], port[8];
    bool is_tls, is_grpc;
    const char *proxy_variable; /* the variable that applies to this host; NULL: none */
    char proxy[256];            /* sanitized */
    struct reach reach;         /* the server itself, without the proxy */
    bool has_answer;            /* the probe in the child process completed; else failure */
    struct doctor_answer answer;
    char failure[64];
};

/* The next network output from *index on, or NULL. Advances *index. */
const struct collector *collector_next(struct doctor *doctor, size_t *index);

/* Splits a URL or host:port; false without a host. `port` defaults to the scheme's. */
bool collector_split(const char *endpoint, bool has_tls_by_default, struct collector *collector);
/* Whether a no_proxy list contains the host. */
bool collector_is_exempt(const char *no_proxy, const char *host);
