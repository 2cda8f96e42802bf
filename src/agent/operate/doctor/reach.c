#include "agent/operate/doctor/collector.h"

#include "base/clock.h"
#include "agent/operate/doctor/doctor_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REACH_TIMEOUT_MS   20000 /* resolvers take 10 s or more to time out */
#define CONNECT_TIMEOUT_MS 4000
#define READ_TIMEOUT_MS    2000

struct query {
    const char *host, *port, *path;
};

static int wait_for(int fd, short events, int timeout_ms)
{
    struct pollfd waited = {.fd = fd, .events = events};
    return poll(&waited, 1, timeout_ms);
}

/* A descriptor, or -1 with errno. */
static int connect_to(const struct addrinfo *address)
{
    int fd =
        socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol);
    int error = 0;
    socklen_t size = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    error = errno;
    if (error == EINPROGRESS) {
        if (wait_for(fd, POLLOUT, CONNECT_TIMEOUT_MS) > 0)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        else
            error = ETIMEDOUT;
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static void connect_to_any(const struct addrinfo *list, struct reach *reach)
{
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        reach->addresses++;
        if (reach->is_connected)
            continue; /* only count the rest */
        getnameinfo(at->ai_addr, at->ai_addrlen, reach->address, sizeof reach->address, NULL, 0,
                    NI_NUMERICHOST);
        int fd = connect_to(at);
        if (fd < 0) {
            reach->connect_errno = errno;
            continue;
        }
        reach->is_connected = true;
        close(fd);
    }
}

/* Sends bytes over a new connection and reads the first bytes of the response. */
static size_t exchange(const struct addrinfo *list, const void *bytes, size_t count, char *answer,
                       size_t size)
{
    size_t got = 0;
    int fd = -1;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
        fd = connect_to(at);
    if (fd < 0)
        return 0;
    if (send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count) {
        while (got < size && wait_for(fd, POLLIN, READ_TIMEOUT_MS) > 0) {
            ssize_t n = recv(fd, answer + got, size - got, 0);
            if (n <= 0)
                break;
            got += (size_t)n;
        }
    }
    close(fd);
    return got;
}

static bool is_settings_frame(const char *answer, size_t got)
{
    return got >= 9 && answer[0] == 0 && answer[3] == 4 && memcmp(answer + 5, "\0\0\0\0", 4) == 0;
}

/* A ClientHello of TLS 1.2 with one cipher: a TLS server responds with a handshake record or an alert. */
static bool responds_to_tls(const struct addrinfo *list)
{
    static const unsigned char hello[] = {
        0x16, 3,   1,   0,    45,      /* a handshake record */
        1,    0,   0,   41,   3,    3, /* ClientHello, TLS 1.2 */
        'c',  'u', 's', 'p',  'a',  'n', ' ', 'd', 'o', 'c', 't', 'o', 'r', ' ', 'p', 'r', 'o',
        'b',  'e', 's', ' ',  'T',  'L', 'S', ' ', 's', 'u', 'p', 'p', 'o', 'r', 't', /* 32 random bytes */
        0,    0,   2,   0xc0, 0x2f, 1,   0}; /* no session, ECDHE-RSA-AES128-GCM-SHA256, no compression */
    char answer[16];
    size_t got = exchange(list, hello, sizeof hello, answer, sizeof answer);
    return got >= 2 && (answer[0] == 0x15 || answer[0] == 0x16) && answer[1] == 0x03;
}

static void detect_protocol(const struct addrinfo *list, const struct query *input, struct reach *reach)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    char request[512], answer[512];
    int len =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %.200s\r\nConnection: close\r\n\r\n",
                 input->path, input->host);
    size_t got = exchange(list, request, (size_t)len, answer, sizeof answer - 1);
    answer[got] = '\0';
    /* Go servers report a missing TLS handshake in plain HTTP. */
    if ((got >= 2 && answer[0] == 0x15 && answer[1] == 0x03) ||
        memmem(answer, got, "HTTPS server", strlen("HTTPS server")) ||
        memmem(answer, got, "HTTPS port", strlen("HTTPS port")))
        reach->protocol = PROTOCOL_TLS;
    else if (got >= 7 && memcmp(answer, "HTTP/1.", 7) == 0)
        reach->protocol = PROTOCOL_HTTP1;
    else if (is_settings_frame(answer, got))
        reach->protocol = PROTOCOL_HTTP2;
    if (reach->protocol == PROTOCOL_HTTP1)
        snprintf(reach->first_line, sizeof reach->first_line, "%.*s", (int)strcspn(answer, "\r\n"), answer);
    if (reach->protocol != PROTOCOL_UNKNOWN)
        return;
    got = exchange(list, preface, sizeof preface - 1, answer, sizeof answer);
    if (is_settings_frame(answer, got))
        reach->protocol = PROTOCOL_HTTP2;
    else if (responds_to_tls(list))
        reach->protocol = PROTOCOL_TLS;
}

static void probe(const void *query, void *answer)
{
    const struct query *input = query;
    struct reach *reach = answer;
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
    uint64_t start_ns = clock_monotonic_ns();
    reach->is_complete = true;
    reach->resolve_error = getaddrinfo(input->host, input->port, &hints, &list);
    reach->resolve_ns = clock_monotonic_ns() - start_ns;
    if (reach->resolve_error != 0)
        return;
    start_ns = clock_monotonic_ns();
    connect_to_any(list, reach);
    reach->connect_ns = clock_monotonic_ns() - start_ns;
    if (reach->is_connected)
        detect_protocol(list, input, reach);
    freeaddrinfo(list);
}

void reach_probe(const char *host, const char *port, const char *path, struct reach *reach)
{
    const struct query query = {host, port, path};
    char failure[64];
    if (!probe_child_run(probe, &query, reach, sizeof *reach, REACH_TIMEOUT_MS, failure))
        memcpy(reach->failure, failure, sizeof failure);
}
