#include "command/hang_gather.h"

#include "base/clock.h"
#include "base/files.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"

#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RAS_PORT   "28028"
#define ANSWER_MAX (256u << 20)

/* The protocol of NCCL's src/ras/client.cc. Until the last command, each answer is a line. */
static const char *const commands[][2] = {
    {"CLIENT PROTOCOL 2\n", "SERVER PROTOCOL "}, {"SET FORMAT json\n", "OK\n"}, {"STATUS\n", NULL}};

/* Reads a line; with `is_all`, up to the end. False: it took too long, or failed. */
static bool read_answer(int file, bool is_all, uint64_t until_ns, struct text *answer)
{
    char bytes[4096];
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        struct pollfd wait = {.fd = file, .events = POLLIN};
        if (now_ns >= until_ns || answer->len > ANSWER_MAX)
            return false;
        if (poll(&wait, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) <= 0)
            continue;
        ssize_t got = recv(file, bytes, is_all ? sizeof bytes : 1, 0);
        if (got <= 0)
            return got == 0 && is_all;
        text_add_bytes(answer, bytes, (size_t)got);
        text_add_char(answer, 0, 0);
        if (!is_all && *bytes == '\n')
            return true;
    }
}

static enum status converse(int file, uint64_t until_ns, struct text *answer, struct error *err)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *expected = commands[i][1];
        text_clear(answer);
        if (send(file, commands[i][0], strlen(commands[i][0]), MSG_NOSIGNAL) < 0 ||
            !read_answer(file, !expected, until_ns, answer))
            return error_set(err, STATUS_UNAVAILABLE, "no answer to %.6s", commands[i][0]);
        if (expected && strncasecmp(answer->data, expected, strlen(expected)) != 0)
            return error_set(err, STATUS_INVALID, i ? "NCCL is older than 2.28.7" : "this is not NCCL's RAS");
    }
    return STATUS_OK;
}

enum status hang_ask_ras(const char *address, uint32_t timeout_ms, struct hang_model *model,
                         struct error *err)
{
    struct error why = {""};
    struct text answer = {0};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *places = NULL;
    char *host = xstrdup(address), *port = strrchr(host, ':');
    if (port)
        *port++ = 0;
    int wrong = getaddrinfo(host, port ? port : RAS_PORT, &hints, &places);
    struct timeval limit = {.tv_sec = timeout_ms / 1000 + 1};
    int file = -1;
    for (struct addrinfo *at = places; at && file < 0; at = at->ai_next) {
        file = high_fd(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
        (void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* also of connect() */
        if (connect(file, at->ai_addr, at->ai_addrlen) != 0)
            files_give_up(file), file = -1;
    }
    enum status status = wrong      ? error_set(&why, STATUS_UNAVAILABLE, "%s", gai_strerror(wrong))
                         : file < 0 ? error_set(&why, STATUS_UNAVAILABLE, "cannot connect (%m)")
                                    : converse(file, clock_now_ns() + timeout_ms * NS_PER_MS, &answer, &why);
    if (status == STATUS_OK)
        status = hang_read_json(model, answer.data, answer.len, &why);
    files_give_up(file);
    if (places)
        freeaddrinfo(places);
    free(host);
    text_deinit(&answer);
    return status == STATUS_OK ? status
                               : error_set(err, status, "NCCL's RAS at %.200s: %.150s", address, why.text);
}
