/* Loads and initializes libcuspan.so like the CUDA driver, and then continues in the same way whatever
 * happens in the agent: it prints "host: done" and exits with status 7.
 *
 *   host LIBRARY [fork-before] [fork-after] [fork-play] [thread] [no-exit] [DOUBLE RECORDING]
 *
 * With the replay library and a recording it makes the recorded calls in between; with fork-play, a child
 * forked after the agent has started makes them first. With no-exit, it ends without exit handlers, which
 * would wait for the agent. It prints everything that the agent changed to
 * standard output, and then exits with status 1. */
#include "forked_child.h"
#include "host_support.h"
#include "agent/recording/replay_seam.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ODD_ERRNO    ENOTRECOVERABLE
#define CHILD_STATUS 3
#define CHILD_S      120 /* for a child that waits for an agent; its deadline at exit is longer */

extern char **environ;

/* All process state that a library must not change. */
struct state {
    sigset_t mask;
    struct sigaction actions[NSIG];
    cpu_set_t affinity;
    char *environment;
    char locale[256];
    char directory[4096];
    struct rlimit limits[RLIM_NLIMITS];
    mode_t umask;
    int rounding;
};

static int wrong;

static void complain(const char *what)
{
    printf("host: %s changed\n", what);
    wrong = 1;
}

static char *join_environment(void)
{
    size_t size = 1;
    for (char **at = environ; *at; at++)
        size += strlen(*at) + 1;
    char *all = calloc(1, size), *end = all;
    for (char **at = environ; all && *at; at++) {
        end = stpcpy(end, *at);
        *end++ = '\n';
    }
    return all;
}

static void look(struct state *state)
{
    memset(state, 0, sizeof *state);
    pthread_sigmask(SIG_SETMASK, NULL, &state->mask);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, NULL, &state->actions[i]);
    sched_getaffinity(0, sizeof state->affinity, &state->affinity);
    state->environment = join_environment();
    snprintf(state->locale, sizeof state->locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(state->directory, sizeof state->directory))
        state->directory[0] = 0;
    for (int i = 0; i < RLIM_NLIMITS; i++)
        getrlimit((unsigned)i, &state->limits[i]);
    state->umask = umask(0);
    umask(state->umask);
    state->rounding = fegetround();
}

static void compare(const struct state *before, const struct state *after)
{
    bool same_actions = true;
    for (int i = 1; i < NSIG; i++)
        same_actions &= before->actions[i].sa_handler == after->actions[i].sa_handler &&
                        before->actions[i].sa_flags == after->actions[i].sa_flags;
    if (memcmp(&before->mask, &after->mask, sizeof before->mask) != 0)
        complain("the signal mask");
    if (!same_actions)
        complain("a signal handler");
    if (!CPU_EQUAL(&before->affinity, &after->affinity))
        complain("the affinity");
    if (!before->environment || !after->environment || strcmp(before->environment, after->environment) != 0)
        complain("the environment");
    if (strcmp(before->locale, after->locale) != 0)
        complain("the locale");
    if (strcmp(before->directory, after->directory) != 0)
        complain("the working directory");
    if (memcmp(before->limits, after->limits, sizeof before->limits) != 0)
        complain("a resource limit");
    if (before->umask != after->umask)
        complain("the umask");
    if (before->rounding != after->rounding)
        complain("the floating-point rounding");
}

static void inject(const char *path)
{
    struct state before, after;
    double begin_ms = now_ms();
    int (*initialize)(void) = (int (*)(void))find(path, "InitializeInjection");
    double loaded_ms = now_ms();
    look(&before);
    errno = ODD_ERRNO;
    int answer = initialize();
    if (errno != ODD_ERRNO)
        complain("errno");
    double initialized_ms = now_ms();
    look(&after);
    compare(&before, &after);
    if (answer != 1) {
        printf("host: InitializeInjection answered %d\n", answer);
        wrong = 1;
    }
    initialize(); /* a second call does nothing */
    const char *times = getenv("HOST_TIMES");
    FILE *file = times ? fopen(times, "w") : NULL;
    if (file) {
        fprintf(file, "%.3f %.3f\n", loaded_ms - begin_ms, initialized_ms - loaded_ms);
        fclose(file);
    }
    free(before.environment);
    free(after.environment);
}

static void *inject_on_thread(void *path)
{
    inject(path);
    return NULL;
}

static bool replay(cuspan_replay_run_fn *run, const struct replay_options *options)
{
    struct replay_result result;
    struct error err = {""};
    if (run(options, &result, &err) == STATUS_OK)
        return true;
    printf("host: %s\n", err.text);
    return false;
}

static cuspan_replay_run_fn *find_run(const char *library)
{
    return (cuspan_replay_run_fn *)find(library, "cuspan_replay_run");
}

/* A child of the process has no agent, and the child must not wait for one. With `run` it makes CUDA calls,
 * without checking for space, because no agent is there to make any. */
static void fork_and_wait(cuspan_replay_run_fn *run)
{
    static const struct replay_options options = {.overload = true};
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_S);
        exit(!run || replay(run, &options) ? CHILD_STATUS : 1);
    }
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_STATUS) {
        printf("host: a forked child ended with %x\n", (unsigned)status);
        wrong = 1;
    }
}

static void *fork_a_few(void *unused)
{
    for (int i = 0; i < 10; i++)
        fork_and_wait(NULL);
    return NULL;
}

static void play(const char *library, bool forks)
{
    struct replay_options options = {.repeat = forks ? 20 : 1};
    pthread_t forker;
    cuspan_replay_run_fn *run = find_run(library);
    if (forks && pthread_create(&forker, NULL, fork_a_few, NULL) != 0)
        exit(1);
    if (!replay(run, &options))
        wrong = 1;
    if (forks)
        pthread_join(forker, NULL);
}

int main(int argc, char **argv)
{
    bool before = false, after = false, child_plays = false, thread = false, no_exit = false;
    int at = 2;
    struct error err = {""};
    for (; at < argc && !strchr(argv[at], '/'); at++) {
        before |= strcmp(argv[at], "fork-before") == 0;
        after |= strcmp(argv[at], "fork-after") == 0;
        child_plays |= strcmp(argv[at], "fork-play") == 0;
        thread |= strcmp(argv[at], "thread") == 0;
        no_exit |= strcmp(argv[at], "no-exit") == 0;
    }
    const char *library = at + 1 < argc ? argv[at] : NULL;
    if (argc < 2)
        return 2;
    if (before)
        fork_and_wait(NULL);
    if (library) {
        cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)find(library, "cuspan_replay_load");
        if (load(argv[at + 1], &err) != STATUS_OK) {
            printf("host: %s\n", err.text);
            return 1;
        }
    }
    pthread_t other;
    if (thread && pthread_create(&other, NULL, inject_on_thread, argv[1]) == 0)
        pthread_join(other, NULL);
    else
        inject(argv[1]);
    if (library && child_plays)
        fork_and_wait(find_run(library));
    if (library)
        play(library, after);
    if (after)
        fork_and_wait(NULL);
    printf("host: done\n");
    fflush(stdout);
    if (no_exit)
        _exit(wrong ? 1 : 7);
    return wrong ? 1 : 7;
}
