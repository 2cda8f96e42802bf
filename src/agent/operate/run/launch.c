#include "agent/operate/run/launch.h"

#include "base/clock.h"
#include "base/log/log.h"
#include "base/files.h"
#include "cli/util/exit_code.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REFUSED_PAUSE_NS 10000000

/* All that a process may want to get, besides real-time signals. Not those of faults, nor those that stop and
 * continue: with them, a shell controls us as well as the program. */
static const int forwarded[] = {SIGINT,   SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,   SIGUSR2, SIGALRM,
                                SIGWINCH, SIGURG,  SIGIO,  SIGPWR,  SIGVTALRM, SIGPROF};

/* Returns errno if the program cannot be started. */
static int become(char **argv, void (*prepare)(void *), void *context, const sigset_t *mask,
                  const struct sigaction *old_chld)
{
    if (prepare)
        prepare(context);
    sigaction(SIGCHLD, old_chld, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    return errno;
}

static void run_child(char **argv, void (*prepare)(void *), void *context, const sigset_t *mask,
                      const struct sigaction *old_chld, int error_pipe)
{
    int error = become(argv, prepare, context, mask, old_chld);
    if (write(error_pipe, &error, sizeof error) < 0) {
        /* the exit status tells enough */
    }
    _exit(EXIT_NO_PROGRAM);
}

/* Returns 0, or the errno of a failed exec: a successful exec closes the pipe. */
static int exec_error(int pipe_end)
{
    int error = 0;
    ssize_t got;
    while ((got = read(pipe_end, &error, sizeof error)) < 0 && errno == EINTR) {
    }
    return got == (ssize_t)sizeof error ? error : 0;
}

/* Reaps every child: as process 1 of a container, we get the orphans of the program. True: the program has
 * ended. */
static bool reap(pid_t pid, int *status)
{
    int ended_status;
    pid_t ended;
    bool is_over = false;
    while ((ended = waitpid(-1, &ended_status, WNOHANG)) > 0) {
        if (ended == pid) {
            *status = ended_status;
            is_over = true;
        }
    }
    return is_over;
}

static void forward(pid_t pid, const siginfo_t *info)
{
    if (info->si_code == SI_QUEUE)
        sigqueue(pid, info->si_signo, info->si_value);
    else
        kill(pid, info->si_signo);
}

/* Looks for the end now and then, too: a seccomp filter may refuse to block signals or to wait for them. */
static int wait_and_forward(pid_t pid, const sigset_t *awaited)
{
    const struct timespec second = {.tv_sec = 1}, pause = {.tv_nsec = REFUSED_PAUSE_NS};
    int status = 0;
    while (!reap(pid, &status)) {
        siginfo_t info;
        int signal_number = sigtimedwait(awaited, &info, &second);
        /* Codes above 0 are from the kernel: a terminal sends such signals to the whole group. */
        if (signal_number > 0 && signal_number != SIGCHLD && info.si_code <= 0)
            forward(pid, &info);
        else if (signal_number < 0 && errno != EAGAIN && errno != EINTR)
            nanosleep(&pause, NULL);
    }
    return status;
}

static enum status start(char **argv, void (*prepare)(void *), void *context, const sigset_t *old_mask,
                         const struct sigaction *old_chld, pid_t *pid, struct error *err)
{
    int ends[2];
    if (high_fd_pair(pipe2(ends, O_CLOEXEC), ends) != 0)
        ends[0] = ends[1] = -1; /* the program's exit status then tells that it could not be started */
    *pid = fork();
    if (*pid == 0)
        run_child(argv, prepare, context, old_mask, old_chld, ends[1]);
    int error = *pid < 0 ? errno : 0;
    if (*pid < 0 && !prepare) { /* no more processes are allowed, so the program takes our place */
        log_warn("cannot start a process (%s): the program runs without a summary at its end",
                 strerror(error));
        error = become(argv, prepare, context, old_mask, old_chld);
    }
    close(ends[1]);
    if (*pid > 0)
        error = exec_error(ends[0]);
    close(ends[0]);
    if (error == 0)
        return STATUS_OK;
    if (*pid > 0)
        waitpid(*pid, NULL, 0);
    bool is_missing = error == ENOENT || error == ENOTDIR;
    if (error == ENOENT && strchr(argv[0], '/') && access(argv[0], F_OK) == 0)
        return error_set(
            err, STATUS_NOT_FOUND,
            "%.300s is there, but not what runs it: the program in its #! line (which may end with "
            "a carriage return), or its loader",
            argv[0]);
    return error_set(err, is_missing ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE, "%.300s: %s", argv[0],
                     strerror(error));
}

enum status launch(char **argv, void (*prepare)(void *context), void *context, struct launched *launched,
                   struct error *err)
{
    sigset_t awaited, old_mask;
    struct sigaction old_chld, default_action = {.sa_handler = SIG_DFL};
    *launched = (struct launched){.pid = -1};
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        sigaddset(&awaited, forwarded[i]);
    for (int signal_number = SIGRTMIN; signal_number <= SIGRTMAX; signal_number++)
        sigaddset(&awaited, signal_number);
    /* Blocked before the fork, so that no signal is lost. With SIGCHLD ignored, the end would not be seen. */
    sigaction(SIGCHLD, &default_action, &old_chld);
    sigprocmask(SIG_BLOCK, &awaited, &old_mask);
    launched->start_ns = clock_now_ns();
    enum status status = start(argv, prepare, context, &old_mask, &old_chld, &launched->pid, err);
    if (status == STATUS_OK)
        launched->wait_status = wait_and_forward(launched->pid, &awaited);
    launched->end_ns = clock_now_ns();
    sigprocmask(SIG_SETMASK, &old_mask, NULL);
    return status;
}

int launch_exit_code(enum status status)
{
    if (status == STATUS_OK)
        return EXIT_OK;
    return status == STATUS_NOT_FOUND ? EXIT_NO_PROGRAM : EXIT_CANNOT_RUN;
}

int launch_end(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    int signal_number = WTERMSIG(wait_status);
    const struct rlimit no_core = {0, 0}; /* only the core of the program matters */
    sigset_t mask;
    setrlimit(RLIMIT_CORE, &no_core);
    signal(signal_number, SIG_DFL);
    sigemptyset(&mask);
    sigaddset(&mask, signal_number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    raise(signal_number);
    return 128 + signal_number;
}

char *launch_find(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
    for (const char *at = path && *path ? path : "/usr/bin:/bin"; *at;
         at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':')) {
        char *candidate = xasprintf("%.*s/%s", (int)strcspn(at, ":"), at, name);
        struct stat about;
        if (access(candidate, X_OK) == 0 && stat(candidate, &about) == 0 && S_ISREG(about.st_mode))
            return candidate;
        free(candidate);
    }
    errno = ENOENT;
    return NULL;
}
