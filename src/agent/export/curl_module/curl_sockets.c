#include "agent/export/curl_module/curl_sockets.h"

#include "base/files.h"

#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

void curl_sockets_init(struct curl_sockets *sockets)
{
    int ends[2] = {-1, -1};
    if (high_fd_pair(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), ends) != 0)
        ends[0] = ends[1] = -1;
    sockets->wait = guarded_fd_of(ends[0]);
    sockets->wake = guarded_fd_of(ends[1]);
    for (size_t i = 0; i < CURL_SOCKETS_MAX; i++)
        sockets->open[i] = GUARDED_FD_NONE;
}

void curl_sockets_deinit(struct curl_sockets *sockets)
{
    guarded_fd_close(&sockets->wait);
    guarded_fd_close(&sockets->wake);
}

static struct guarded_fd *find(struct curl_sockets *sockets, int number)
{
    for (size_t i = 0; i < CURL_SOCKETS_MAX; i++)
        if (sockets->open[i].number == number)
            return &sockets->open[i];
    return NULL;
}

static bool is_lost(const struct guarded_fd *fd)
{
    return fd->number >= 0 && !guarded_fd_is_ours(fd);
}

/* With a pair, only the pair is checked: libcurl 7.88 closes the losing socket of a race between address
 * families without calling close_socket. */
bool curl_sockets_are_ours(const struct curl_sockets *sockets)
{
    bool lost = is_lost(&sockets->wait) || is_lost(&sockets->wake);
    for (size_t i = 0; i < CURL_SOCKETS_MAX && sockets->wait.number < 0; i++)
        lost |= is_lost(&sockets->open[i]);
    return !lost;
}

/* Sets SOCK_CLOEXEC, so that programs executed by the host do not inherit the socket. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct curl_sockets *sockets = context;
    if (curl_sockets_are_ours(sockets))
        for (size_t i = 0; i < CURL_SOCKETS_MAX; i++) /* libcurl closed some without calling close_socket */
            if (is_lost(&sockets->open[i]))
                sockets->open[i] = GUARDED_FD_NONE;
    struct guarded_fd *place = find(sockets, -1);
    int number =
        place ? high_fd(socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol)) : -1;
    if (number < 0)
        return CURL_SOCKET_BAD;
    *place = guarded_fd_of(number);
    return number;
}

static int close_socket(void *context, curl_socket_t number)
{
    struct guarded_fd *open = find(context, number);
    if (open)
        guarded_fd_close(open);
    return 0;
}

void curl_sockets_follow(struct curl_sockets *sockets, CURL *easy)
{
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, sockets);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, sockets);
}

void curl_sockets_wake(const struct curl_sockets *sockets)
{
    if (guarded_fd_is_ours(&sockets->wake))
        (void)!send(sockets->wake.number, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_wakes(const struct curl_sockets *sockets)
{
    char byte;
    while (guarded_fd_is_ours(&sockets->wait) && recv(sockets->wait.number, &byte, 1, MSG_DONTWAIT) > 0) {
    }
}

void curl_sockets_wait(const struct curl_sockets *sockets, CURLM *multi, int timeout_ms)
{
    struct curl_waitfd extra = {.fd = sockets->wait.number, .events = CURL_WAIT_POLLIN};
    int ready = 0;
    CURLMcode failed = curl_multi_wait(multi, &extra, extra.fd >= 0, timeout_ms, &ready);
    if (extra.revents)
        take_wakes(sockets);
    else if (failed || (ready == 0 && extra.fd < 0))
        poll(NULL, 0, 1); /* curl_multi_wait returns at once if it has no descriptors */
}
