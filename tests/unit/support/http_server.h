/* A small real HTTP/1.1 server for tests, on a free port of 127.0.0.1, in its own threads. It replies
 * according to a script, one reply per request (the last repeats), and keeps the requests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVER_REQUESTS_MAX 64

struct reply {
    int status;          /* 0: close the connection without a response */
    const char *headers; /* complete lines, each with \r\n; or NULL */
    const void *body;
    size_t body_bytes;
    size_t filler_bytes; /* more of the body: this many 'x' */
    bool hold;           /* no response until http_server_release */
    bool hang;           /* no response until the server stops */
    bool close;          /* after the response, without a header */
    bool reset_next;     /* the next request on this connection, when its head has arrived: a reset */
};

struct request {
    char head[4096]; /* request line and headers */
    uint8_t *body;
    size_t body_bytes;
    int connection; /* its number */
};

struct http_server;

struct http_server *http_server_start(const struct reply *script, size_t count);
int http_server_port(const struct http_server *server);
size_t http_server_requests(struct http_server *server);
/* Waits, without a limit, until the server has received `count` requests. */
void http_server_wait(struct http_server *server, size_t count);
/* Answers all requests on hold, now and later. */
void http_server_release(struct http_server *server);
/* Valid until the server stops. */
const struct request *http_server_request(struct http_server *server, size_t index);
void http_server_stop(struct http_server *server);

/* The value of a header in a request's head, in a static buffer of the thread, or NULL. */
const char *request_header(const struct request *request, const char *name);

/* A port of 127.0.0.1 without a listener. */
int free_port(void);
