#include "agent/operate/doctor/doctor_facts.h"

#include "base/files.h"
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

static void discard_output(void)
{
#ifdef __SANITIZE_ADDRESS__
    const int last = STDOUT_FILENO; /* keep a sanitizer's report of the child visible */
#else
    const int last = STDERR_FILENO;
#endif
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; null_fd >= 0 && fd <= last; fd++)
        dup2(null_fd, fd);
}

static void run_in_child(void (*work)(const void *, void *), const void *query, void *answer, size_t bytes,
                         int to)
{
    discard_output();
    /* A driver that starts here must not load an agent. */
    unsetenv("CUDA_INJECTION64_PATH");
    work(query, answer);
    _exit(!files_write(to, answer, bytes));
}

/* False if the child closed the pipe early, or at the deadline (`is_timed_out`). */
static bool read_answer(int from, char *answer, size_t bytes, unsigned timeout_ms, bool *is_timed_out)
{
    uint64_t deadline_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    *is_timed_out = false;
    while (bytes > 0) {
        uint64_t now_ns = clock_monotonic_ns();
        struct pollfd waited = {.fd = from, .events = POLLIN};
        *is_timed_out = now_ns >= deadline_ns;
        if (*is_timed_out)
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

bool probe_child_run(void (*work)(const void *query, void *answer), const void *query, void *answer,
                     size_t bytes, unsigned timeout_ms, char failure[64])
{
    int ends[2], status = 0;
    bool is_timed_out = false;
    *failure = '\0';
    memset(answer, 0, bytes);
    fflush(NULL); /* or the child flushes copies of the buffers, too */
    pid_t pid = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0)
        run_in_child(work, query, answer, bytes, ends[1]);
    if (pid < 0) {
        snprintf(failure, 64, "fork failed: %s", strerror(errno));
        return false;
    }
    close(ends[1]);
    bool is_complete = read_answer(ends[0], answer, bytes, timeout_ms, &is_timed_out);
    close(ends[0]);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (is_complete)
        return true;
    memset(answer, 0, bytes);
    if (is_timed_out)
        snprintf(failure, 64, "no answer within %u s", timeout_ms / 1000);
    else if (WIFSIGNALED(status))
        snprintf(failure, 64, "crashed (%s)", strsignal(WTERMSIG(status)));
    else
        snprintf(failure, 64, "exited with status %d", WEXITSTATUS(status));
    return false;
}
