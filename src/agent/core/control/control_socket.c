#include "agent/core/control/control_socket.h"

#include "agent/core/resource/self_env.h"
#include "base/clock.h"
#include "base/control_path.h"
#include "base/log/log.h"
#include "base/process/cpu_time.h"
#include "base/files.h"
#include "base/process/guarded_fd.h"
#include "base/process/variables.h"
#include "agent/capture/threads/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENT_NS (1 * NS_PER_SECOND) /* to send a request, and again to read the answer */
#define NAMES_MAX 8 /* a process with this PID in another namespace may use the same directory */
#define BACKLOG   16
#define LEAVE_MS  200 /* that the thread gets at exit; a request may take longer */

static struct {
    const struct control_verb *verbs;
    size_t verb_count;
    char path[CONTROL_PATH_BYTES + 32];
    struct guarded_fd listener, client;
    pthread_t thread;
    _Atomic pid_t owner; /* 0: none is open */
    atomic_bool is_ending, has_ended;
    uid_t user;
    char answer[CONTROL_ANSWER_BYTES]; /* for the thread */
} control = {.listener = GUARDED_FD_NONE, .client = GUARDED_FD_NONE};

/* Its number, or -1 if there is none or the host has closed it. */
static int number_of(const struct guarded_fd *held)
{
    return guarded_fd_is_ours(held) ? held->number : -1;
}

/* Clients. */

/* True: readable, or writable. */
static bool wait_for(const struct guarded_fd *client, short what, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd polled = {.fd = number_of(client), .events = what};
        uint64_t now_ns = clock_monotonic_ns();
        if (polled.fd < 0 || now_ns >= deadline_ns)
            return false;
        int found = poll(&polled, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1);
        if (found > 0)
            return polled.revents & what;
        if (found < 0 && errno != EINTR)
            return false;
    }
}

/* Reads a line without its end; false: it is too long or incomplete. */
static bool read_line(const struct guarded_fd *client, char line[CONTROL_REQUEST_BYTES])
{
    uint64_t deadline_ns = clock_monotonic_ns() + CLIENT_NS;
    size_t used = 0;
    while (used < CONTROL_REQUEST_BYTES && wait_for(client, POLLIN, deadline_ns)) {
        ssize_t got = recv(number_of(client), line + used, CONTROL_REQUEST_BYTES - used, 0);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        if (got < 0)
            continue;
        char *end = memchr(line + used, '\n', (size_t)got);
        used += (size_t)got;
        if (end) {
            *end = 0;
            return true;
        }
    }
    return false;
}

static void send_answer(const struct guarded_fd *client, const char *text, size_t length)
{
    uint64_t deadline_ns = clock_monotonic_ns() + CLIENT_NS;
    while (length > 0 && wait_for(client, POLLOUT, deadline_ns)) {
        ssize_t sent = send(number_of(client), text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return;
        text += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
}

/* An answer that does not fit is truncated. The client reports that it is not valid JSON. */
static size_t make_answer(char *line)
{
    const char *name = strsep(&line, " ");
    const struct control_verb *verb = NULL;
    for (size_t i = 0; i < control.verb_count && !verb; i++)
        if (strcmp(control.verbs[i].name, name) == 0)
            verb = &control.verbs[i];
    FILE *to = fmemopen(control.answer, sizeof control.answer, "w");
    if (!to)
        return 0;
    if (verb)
        verb->answer(to, line ? line + strspn(line, " ") : "");
    else
        fputs("{\"answer\":\"failed\",\"why\":\"this agent does not know that request\"}", to);
    fputc('\n', to);
    fflush(to);
    long length = ftell(to);
    fclose(to);
    return length > 0 ? (size_t)length : 0;
}

static bool may_ask(const struct guarded_fd *client)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(number_of(client), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == control.user || peer.uid == 0);
}

/* The client has hung up, so its request is not executed. */
static bool has_gone(const struct guarded_fd *client)
{
    struct pollfd polled = {.fd = number_of(client)};
    return polled.fd < 0 || (poll(&polled, 1, 0) > 0 && polled.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void serve(int number)
{
    char line[CONTROL_REQUEST_BYTES];
    control.client = guarded_fd_of(number);
    if (may_ask(&control.client) && read_line(&control.client, line) && !has_gone(&control.client))
        send_answer(&control.client, control.answer, make_answer(line));
    guarded_fd_close(&control.client);
}

/* The thread. */

static void *run(void *unused)
{
    thread_is_ours = true;
    prctl(PR_SET_NAME, "cuspan/control");
    cpu_time_start(OWN_CONTROL);
    while (!atomic_load(&control.is_ending)) {
        struct pollfd polled = {.fd = number_of(&control.listener), .events = POLLIN};
        if (polled.fd < 0)
            break;
        int found = poll(&polled, 1, -1);
        if (atomic_load(&control.is_ending) || (found < 0 && errno != EINTR))
            break;
        int listener = number_of(&control.listener);
        int client = found > 0 && listener >= 0
                         ? high_fd(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK))
                         : -1;
        if (client >= 0)
            serve(client);
    }
    atomic_store(&control.has_ended, true);
    return NULL;
}

/* Opening and closing. */

static bool is_alive(int folder, const char *path, const char *name)
{
    int probe = control_path_connect(folder, path, name);
    if (probe >= 0)
        close(probe);
    return probe >= 0 || errno == EAGAIN || errno == EACCES;
}

/* Renames the socket, which already listens under a temporary name: so every socket that a client finds
 * accepts connections. Replaces what a dead process with our PID has left. */
static bool publish(int folder, const char *path, const char *hidden)
{
    char name[32];
    for (int i = 1; i <= NAMES_MAX; i++) {
        snprintf(name, sizeof name, i == 1 ? "%d" CONTROL_SUFFIX : "%d-%d" CONTROL_SUFFIX, (int)getpid(), i);
        if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && !is_alive(folder, path, name))
            unlinkat(folder, name, 0);
        if (linkat(folder, hidden, folder, name, 0) == 0) {
            snprintf(control.path, sizeof control.path, "%s/%s", path, name);
            return true;
        }
    }
    return false;
}

/* Returns a listening socket in the directory, or -1 with errno. */
static int listen_in(const char *path)
{
    char hidden[32];
    int folder = control_path_open_folder(path, control.user, true);
    if (folder < 0)
        return -1;
    snprintf(hidden, sizeof hidden, ".%d-%08x.new", (int)getpid(), files_random());
    unlinkat(folder, hidden, 0);
    int listener = control_path_bind(folder, path, hidden);
    bool is_there = listener >= 0 && listen(listener, BACKLOG) == 0 && publish(folder, path, hidden);
    int saved_errno = errno;
    unlinkat(folder, hidden, 0);
    close(folder);
    if (!is_there && listener >= 0)
        close(listener);
    errno = saved_errno;
    return is_there ? listener : -1;
}

void control_socket_serve(const struct control_verb *verbs, size_t count)
{
    control.verbs = verbs;
    control.verb_count = count;
}

enum status control_socket_open(const char *folder, struct error *err)
{
    char places[CONTROL_PLACES_MAX][CONTROL_PATH_BYTES];
    if (getauxval(AT_SECURE) || atomic_load(&control.owner) == getpid())
        return STATUS_OK;
    control.user = geteuid();
    size_t place_count = control_path_list(folder, variables_get("XDG_RUNTIME_DIR"), control.user, places);
    int listener = -1;
    for (size_t i = 0; i < place_count && listener < 0; i++)
        listener = listen_in(places[i]);
    if (listener < 0)
        return error_set(err, STATUS_UNAVAILABLE, "cannot create a control socket in %s: %s",
                         place_count ? places[place_count - 1] : folder, strerror(errno));
    control.listener = guarded_fd_of(listener);
    atomic_store(&control.is_ending, false);
    atomic_store(&control.has_ended, false);
    atomic_store(&control.owner, getpid());
    if (self_env_thread(&control.thread, run) == 0)
        return STATUS_OK;
    atomic_store(&control.owner, 0);
    unlink(control.path);
    guarded_fd_close(&control.listener);
    return error_set(err, STATUS_UNAVAILABLE, "cannot start the control thread");
}

void control_socket_close(void)
{
    pid_t self = getpid();
    if (!atomic_compare_exchange_strong(&control.owner, &self, 0))
        return;
    unlink(control.path);
    atomic_store(&control.is_ending, true);
    int listener = number_of(&control.listener);
    if (listener >= 0)
        shutdown(listener, SHUT_RDWR); /* wakes the thread */
    uint64_t deadline_ns = clock_monotonic_ns() + LEAVE_MS * NS_PER_MS;
    while (listener >= 0 && !atomic_load(&control.has_ended) && clock_monotonic_ns() < deadline_ns)
        nanosleep(&(struct timespec){0, (long)NS_PER_MS / 10}, NULL);
    if (atomic_load(&control.has_ended)) {
        pthread_join(control.thread, NULL);
        guarded_fd_close(&control.listener);
    } else {
        pthread_detach(control.thread); /* it is serving a client and ends after that; what it uses stays */
    }
}

void control_socket_hide(void)
{
    if (atomic_load(&control.owner) == getpid())
        unlink(control.path);
}

void control_socket_forget(void)
{
    atomic_store(&control.owner, 0);
    guarded_fd_close(&control.client);
    guarded_fd_close(&control.listener);
}
