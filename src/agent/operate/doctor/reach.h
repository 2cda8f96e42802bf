/* Probes a host and port with plain sockets, independently of any exporter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/* Resolves the host, connects and detects the protocol, in a child process. `path`: for the GET request. */
void reach_probe(const char *host, const char *port, const char *path, struct reach *reach);
