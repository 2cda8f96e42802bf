#include "cli/doctor/reach.h"

#include "base/clock.h"
#include "cli/doctor/probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REACH_TIMEOUT_MS   20000 /* a resolver gives up after 10 s or more */
#define CONNECT_TIMEOUT_MS 4000
#define READ_TIMEOUT_MS    2000

struct question {
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
            continue; /* only counted */
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

/* Sends bytes over a connection of its own, and reads what comes first. */
static size_t talk(const struct addrinfo *list, const void *bytes, size_t count, char *answer, size_t size)
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

/* A server of Go's that wants TLS says so in plain HTTP. */
static bool wants_tls(const char *answer, size_t got)
{
    return (got >= 2 && answer[0] == 0x15 && answer[1] == 0x03) ||
           memmem(answer, got, "HTTPS server", strlen("HTTPS server")) != NULL ||
           memmem(answer, got, "HTTPS port", strlen("HTTPS port")) != NULL;
}

/* A ClientHello of TLS 1.2 with one cipher: whoever speaks TLS answers by a handshake or an alert. */
static bool greets_back(const struct addrinfo *list)
{
    static const unsigned char hello[] = {
        0x16, 3,   1,   0,    45,      /* a handshake record */
        1,    0,   0,   41,   3,    3, /* ClientHello, TLS 1.2 */
        'c',  'u', 's', 'p',  'a',  'n', ' ', 'd', 'o', 'c', 't', 'o', 'r', ' ', 'a', 's', 'k',
        's',  ' ', 'w', 'h',  'o',  ' ', 'i', 's', ' ', 't', 'h', 'e', 'r', 'e', '.', /* its 32 random bytes
                                                                                       */
        0,    0,   2,   0xc0, 0x2f, 1,   0}; /* no session, ECDHE-RSA-AES128-GCM-SHA256, no compression */
    char answer[16];
    size_t got = talk(list, hello, sizeof hello, answer, sizeof answer);
    return got >= 2 && (answer[0] == 0x15 || answer[0] == 0x16) && answer[1] == 0x03;
}

static void listen_to(const struct addrinfo *list, const struct question *asked, struct reach *reach)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    char request[512], answer[512];
    int len =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %.200s\r\nConnection: close\r\n\r\n",
                 asked->path, asked->host);
    size_t got = talk(list, request, (size_t)len, answer, sizeof answer - 1);
    answer[got] = '\0';
    if (wants_tls(answer, got))
        reach->spoken = SPEAKS_TLS;
    else if (got >= 7 && memcmp(answer, "HTTP/1.", 7) == 0)
        reach->spoken = SPEAKS_HTTP1;
    else if (is_settings_frame(answer, got))
        reach->spoken = SPEAKS_HTTP2;
    if (reach->spoken == SPEAKS_HTTP1)
        snprintf(reach->first, sizeof reach->first, "%.*s", (int)strcspn(answer, "\r\n"), answer);
    if (reach->spoken != SPEAKS_NOTHING)
        return;
    got = talk(list, preface, sizeof preface - 1, answer, sizeof answer);
    if (is_settings_frame(answer, got))
        reach->spoken = SPEAKS_HTTP2;
    else if (greets_back(list))
        reach->spoken = SPEAKS_TLS;
}

static void ask(const void *question, void *answer)
{
    const struct question *asked = question;
    struct reach *reach = answer;
    struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
    uint64_t begin_ns = clock_monotonic_ns();
    reach->is_asked = true;
    reach->resolve_error = getaddrinfo(asked->host, asked->port, &hints, &list);
    reach->resolve_ns = clock_monotonic_ns() - begin_ns;
    if (reach->resolve_error != 0)
        return;
    begin_ns = clock_monotonic_ns();
    connect_to_any(list, reach);
    reach->connect_ns = clock_monotonic_ns() - begin_ns;
    if (reach->is_connected)
        listen_to(list, asked, reach);
    freeaddrinfo(list);
}

void reach_ask(const char *host, const char *port, const char *path, struct reach *reach)
{
    const struct question question = {host, port, path};
    char how[64];
    if (probe_child_ask(ask, &question, reach, sizeof *reach, REACH_TIMEOUT_MS, how) != CHILD_ANSWERED)
        memcpy(reach->how, how, sizeof how);
}
