/* What is there at a host and a port, asked with sockets alone: nothing of an exporter is in the way. */
#ifndef CUSPAN_CLI_DOCTOR_REACH_H
#define CUSPAN_CLI_DOCTOR_REACH_H

#include <stdbool.h>
#include <stdint.h>

enum spoken { SPEAKS_NOTHING, SPEAKS_HTTP1, SPEAKS_HTTP2, SPEAKS_TLS };

struct reach {
    bool is_asked;      /* false: the child that should have asked did not come back; see how */
    int resolve_error;  /* getaddrinfo's; 0: the host is known */
    char address[64];   /* the one that was connected to, or the last one tried */
    unsigned addresses; /* of the host */
    bool is_connected;
    int connect_errno;
    uint64_t resolve_ns, connect_ns;
    enum spoken spoken; /* to a request of HTTP/1.1 without TLS, then to HTTP/2's preface */
    char first[128];    /* the first line of an answer in HTTP/1 */
    char how[64];
};

/* Resolves, connects and listens, in a child. `path`: what is asked for by GET. */
void reach_ask(const char *host, const char *port, const char *path, struct reach *reach);

#endif
