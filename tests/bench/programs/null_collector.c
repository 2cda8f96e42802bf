/* A collector that accepts everything and parses nothing: for benchmarks, so that they measure the
 * sender.
 *
 *   null_collector [PORT]     listens on 127.0.0.1 (0, the default: a port that is free) and prints "port N"
 *
 * Speaks HTTP/1.1 as far as OTLP exporters need it: POST with a Content-Length, persistent connections,
 * "Expect: 100-continue" (curl sends it before large bodies, and would otherwise wait for a second). Each
 * request gets 200 and an empty body, which is an empty OTLP response. At SIGTERM or SIGINT it prints
 * "requests N bytes M": the bytes of bodies as received, compressed or not. One thread per connection. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES (256 * 1024)

static atomic_ullong requests, bytes;

static bool say(int client, const char *text)
{
    size_t length = strlen(text);
    return send(client, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* The value of a header field, or NULL; `head` ends with a NUL. */
static const char *field(const char *head, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " ");
    }
    return NULL;
}

/* Reads until the end of a head lies in `buffer`; returns where its body begins, 0 at the end of the
 * connection. */
static size_t read_head(int client, char *buffer, size_t *filled)
{
    for (;;) {
        buffer[*filled] = 0;
        const char *end = strstr(buffer, "\r\n\r\n");
        if (end)
            return (size_t)(end - buffer) + 4;
        if (*filled == READ_BYTES)
            return 0;
        ssize_t got = recv(client, buffer + *filled, READ_BYTES - *filled, 0);
        if (got <= 0)
            return 0;
        *filled += (size_t)got;
    }
}

/* Discards the body and moves the next request's bytes to the front. */
static bool skip_body(int client, char *buffer, size_t *filled, size_t begin, unsigned long long length)
{
    unsigned long long have = *filled - begin;
    if (have >= length) {
        *filled = (size_t)(have - length);
        memmove(buffer, buffer + begin + length, *filled);
        return true;
    }
    *filled = 0;
    while (have < length) {
        size_t want = length - have < READ_BYTES ? (size_t)(length - have) : READ_BYTES;
        ssize_t got = recv(client, buffer, want, 0);
        if (got <= 0)
            return false;
        have += (unsigned long long)got;
    }
    return true;
}

static bool serve_one(int client, char *buffer, size_t *filled)
{
    size_t begin = read_head(client, buffer, filled);
    if (!begin)
        return false;
    char kept = buffer[begin];
    buffer[begin] = 0;
    const char *length_text = field(buffer, "Content-Length"), *expect = field(buffer, "Expect");
    const char *connection = field(buffer, "Connection");
    unsigned long long length = length_text ? strtoull(length_text, NULL, 10) : 0;
    bool is_last = connection && strncasecmp(connection, "close", 5) == 0;
    bool is_unknown = !length_text && field(buffer, "Transfer-Encoding");
    if (expect && !say(client, "HTTP/1.1 100 Continue\r\n\r\n"))
        return false;
    buffer[begin] = kept;
    if (is_unknown) {
        say(client, "HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return false;
    }
    if (!skip_body(client, buffer, filled, begin, length))
        return false;
    atomic_fetch_add(&requests, 1);
    atomic_fetch_add(&bytes, length);
    return say(client,
               "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n") &&
           !is_last;
}

static void *serve(void *argument)
{
    int client = *(int *)argument;
    char *buffer = malloc(READ_BYTES + 1);
    size_t filled = 0;
    free(argument);
    while (buffer && serve_one(client, buffer, &filled)) {
    }
    free(buffer);
    close(client);
    return NULL;
}

static void *accept_all(void *argument)
{
    int listener = *(int *)argument, one = 1;
    for (;;) {
        int *client = malloc(sizeof *client);
        pthread_t thread;
        if (!client)
            continue;
        *client = accept(listener, NULL, NULL);
        if (*client < 0) {
            free(client);
            continue;
        }
        setsockopt(*client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (pthread_create(&thread, NULL, serve, client) != 0)
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, number;
    sigset_t ends;
    pthread_t thread;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
        listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("null_collector");
        return 1;
    }
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (pthread_create(&thread, NULL, accept_all, &listener) != 0)
        return 1;
    pthread_detach(thread);
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    sigwait(&ends, &number);
    printf("requests %llu bytes %llu\n", atomic_load(&requests), atomic_load(&bytes));
    return 0;
}
