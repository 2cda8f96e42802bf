#include "http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64

struct connection_thread {
    struct http_server *server;
    pthread_t thread;
    int fd;
    int number;
};

struct http_server {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    bool released;
    int listener;
    int port;
    pthread_t acceptor;
    struct reply *script;
    size_t script_count;
    struct request requests[SERVER_REQUESTS_MAX];
    size_t request_count;
    struct connection_thread connections[CONNECTIONS_MAX];
    int connection_count;
};

static bool write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = send(fd, at, count, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        at += done;
        count -= (size_t)done;
    }
    return true;
}

static bool read_head(int fd, char *head, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        if (recv(fd, head + used, 1, 0) != 1)
            return false;
        head[++used] = '\0';
        if (used >= 4 && strcmp(head + used - 4, "\r\n\r\n") == 0)
            return true;
    }
    return false;
}

const char *request_header(const struct request *request, const char *name)
{
    static _Thread_local char value[1024];
    size_t bytes = strlen(name);
    for (const char *line = request->head; (line = strstr(line, "\r\n"));) {
        line += 2;
        if (strncasecmp(line, name, bytes) != 0 || line[bytes] != ':')
            continue;
        line += bytes + 1;
        line += strspn(line, " ");
        snprintf(value, sizeof value, "%.*s", (int)strcspn(line, "\r"), line);
        return value;
    }
    return NULL;
}

static bool read_request(int fd, struct request *request)
{
    memset(request, 0, sizeof *request);
    if (!read_head(fd, request->head, sizeof request->head))
        return false;
    const char *length = request_header(request, "content-length");
    request->body_bytes = length ? strtoul(length, NULL, 10) : 0;
    request->body = malloc(request->body_bytes + 1);
    for (size_t used = 0; used < request->body_bytes;) {
        ssize_t got = recv(fd, request->body + used, request->body_bytes - used, 0);
        if (got <= 0) {
            free(request->body);
            return false;
        }
        used += (size_t)got;
    }
    return true;
}

/* Until the server is released, or with `hang` until it stops. False when it stops. */
static bool wait_for_release(struct http_server *server, bool hang)
{
    pthread_mutex_lock(&server->lock);
    while (!server->stopping && (hang || !server->released))
        pthread_cond_wait(&server->changed, &server->lock);
    bool stopping = server->stopping;
    pthread_mutex_unlock(&server->lock);
    return !stopping;
}

static bool answer(struct http_server *server, int fd, const struct reply *reply)
{
    if ((reply->hang || reply->hold) && !wait_for_release(server, reply->hang))
        return false;
    if (reply->status == 0)
        return false;
    char head[2048];
    int bytes = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", reply->status,
                         reply->body_bytes + reply->filler_bytes, reply->headers ? reply->headers : "");
    bool fine = write_all(fd, head, (size_t)bytes) && write_all(fd, reply->body, reply->body_bytes);
    char filler[4096];
    memset(filler, 'x', sizeof filler);
    for (size_t left = reply->filler_bytes; left > 0 && fine;) {
        size_t now = left < sizeof filler ? left : sizeof filler;
        fine = write_all(fd, filler, now);
        left -= now;
    }
    return fine && !reply->close;
}

static const struct reply *keep(struct http_server *server, const struct request *request, int connection)
{
    pthread_mutex_lock(&server->lock);
    size_t index = server->request_count;
    if (index < SERVER_REQUESTS_MAX) {
        server->requests[index] = *request;
        server->requests[index].connection = connection;
        server->request_count++;
        pthread_cond_broadcast(&server->changed);
    } else {
        free(request->body);
    }
    if (index >= server->script_count)
        index = server->script_count - 1;
    pthread_mutex_unlock(&server->lock);
    return &server->script[index];
}

static void reset(struct connection_thread *connection)
{
    char head[4096];
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    read_head(connection->fd, head, sizeof head);
    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void *serve(void *argument)
{
    struct connection_thread *connection = argument;
    struct request request;
    while (read_request(connection->fd, &request)) {
        const struct reply *reply = keep(connection->server, &request, connection->number);
        if (!answer(connection->server, connection->fd, reply))
            break;
        if (reply->reset_next) {
            reset(connection);
            int other = open("/dev/null", O_RDWR | O_CLOEXEC);
            dup3(other, connection->fd, O_CLOEXEC); /* closes it, and keeps the number */
            close(other);
            return NULL;
        }
    }
    shutdown(connection->fd, SHUT_RDWR);
    return NULL;
}

static void *accept_connections(void *argument)
{
    struct http_server *server = argument;
    for (;;) {
        int fd = accept(server->listener, NULL, NULL);
        if (fd < 0 || server->connection_count == CONNECTIONS_MAX)
            return NULL;
        struct connection_thread *connection = &server->connections[server->connection_count];
        *connection =
            (struct connection_thread){.server = server, .fd = fd, .number = server->connection_count++};
        pthread_create(&connection->thread, NULL, serve, connection);
    }
}

static int listen_on_free_port(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)
        abort();
    *port = ntohs(address.sin_port);
    return fd;
}

int free_port(void)
{
    int port;
    close(listen_on_free_port(&port));
    return port;
}

struct http_server *http_server_start(const struct reply *script, size_t count)
{
    struct http_server *server = calloc(1, sizeof *server);
    server->script = malloc(count * sizeof *script);
    memcpy(server->script, script, count * sizeof *script);
    server->script_count = count;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->listener = listen_on_free_port(&server->port);
    pthread_create(&server->acceptor, NULL, accept_connections, server);
    return server;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

size_t http_server_requests(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

void http_server_wait(struct http_server *server, size_t count)
{
    pthread_mutex_lock(&server->lock);
    while (server->request_count < count)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

void http_server_release(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->released = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

const struct request *http_server_request(struct http_server *server, size_t index)
{
    (void)http_server_requests(server); /* what its thread has kept */
    return &server->requests[index];
}

void http_server_stop(struct http_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->acceptor, NULL);
    close(server->listener);
    for (int i = 0; i < server->connection_count; i++) {
        shutdown(server->connections[i].fd, SHUT_RDWR);
        pthread_join(server->connections[i].thread, NULL);
        close(server->connections[i].fd);
    }
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i].body);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server->script);
    free(server);
}
