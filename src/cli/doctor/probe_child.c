#include "cli/doctor/probe_child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_quiet(void)
{
#ifdef __SANITIZE_ADDRESS__
    const int last = STDOUT_FILENO; /* what a sanitizer says of the child is to be heard */
#else
    const int last = STDERR_FILENO;
#endif
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nothing >= 0 && fd <= last; fd++)
        dup2(nothing, fd);
}

static void answer_in_child(void (*work)(const void *, void *), const void *question, void *answer,
                            size_t bytes, int to)
{
    const char *at = answer;
    be_quiet();
    /* A driver that starts here must not load an agent, ours or another's. */
    unsetenv("CUDA_INJECTION64_PATH");
    work(question, answer);
    while (bytes > 0) {
        ssize_t written = write(to, at, bytes);
        if (written <= 0 && errno != EINTR)
            break;
        at += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
    _exit(bytes > 0);
}

/* Whether all of it came before the deadline; `is_late`: or whether that passed. */
static bool read_answer(int from, char *answer, size_t bytes, unsigned timeout_ms, bool *is_late)
{
    uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    *is_late = false;
    while (bytes > 0) {
        uint64_t now_ns = clock_monotonic_ns();
        struct pollfd waited = {.fd = from, .events = POLLIN};
        *is_late = now_ns >= deadline_ns;
        if (*is_late)
            return false;
        int ready = poll(&waited, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1);
        ssize_t got = ready > 0 ? read(from, answer, bytes) : -1;
        if (got == 0)
            return false;
        answer += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

enum child_end probe_child_ask(void (*work)(const void *question, void *answer), const void *question,
                               void *answer, size_t bytes, unsigned timeout_ms, char how[64])
{
    int ends[2], status = 0;
    bool is_late = false;
    *how = '\0';
    memset(answer, 0, bytes);
    fflush(NULL); /* or the child's copies of the buffers are written, too */
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0)
        answer_in_child(work, question, answer, bytes, ends[1]);
    if (pid < 0) {
        snprintf(how, 64, "no process: %s", strerror(errno));
        return CHILD_DIED;
    }
    close(ends[1]);
    bool is_whole = read_answer(ends[0], answer, bytes, timeout_ms, &is_late);
    close(ends[0]);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (is_whole)
        return CHILD_ANSWERED;
    memset(answer, 0, bytes);
    if (is_late)
        snprintf(how, 64, "no answer within %u s", timeout_ms / 1000);
    else if (WIFSIGNALED(status))
        snprintf(how, 64, "it crashed (%s)", strsignal(WTERMSIG(status)));
    else
        snprintf(how, 64, "it ended by itself with status %d", WEXITSTATUS(status));
    return is_late ? CHILD_LATE : CHILD_DIED;
}
