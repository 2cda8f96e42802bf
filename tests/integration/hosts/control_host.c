/* A program that starts and stops its tracing with cuspan.h, step by step:
 *
 *   control_host DOUBLE RECORDING AGENT STEP...
 *
 * inject (as CUDA does), start (loads AGENT if it is not loaded), stop, flush (5 s), flush-0 (no time at
 * all), on (is it tracing?), play (the recorded calls), play-waiting (for the agent, too), nap (100 ms),
 * line (waits for one on standard input), attach=TRACEPARENT, detach, step=NUMBER, step-end, child (runs the
 * following steps in a forked child), leak (leaks a block of memory), descriptors (closes all from 3 on, and
 * opens its own listening socket at each of their numbers). Each step prints "STEP: ANSWER". */
#include "cuspan/cuspan.h"
#include "forked_child.h"
#include "agent/recording/replay_seam.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_MS    5000
#define DESCRIPTORS 400 /* the agent's are from 256 on */

static cuspan_replay_run_fn *run;
static uint64_t token;

static void load_double(const char *path, const char *recording)
{
    struct error err = {""};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)dlsym(library, "cuspan_replay_load");
    run = (cuspan_replay_run_fn *)dlsym(library, "cuspan_replay_run");
    if (load(recording, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

/* `overload`: without waiting for the agent. */
static int play(bool overload)
{
    const struct replay_options options = {.overload = overload};
    struct replay_result result;
    struct error err = {""};
    return run(&options, &result, &err) == STATUS_OK ? 0 : -1;
}

static int attach(const char *traceparent)
{
    cuspan_context context;
    if (!cuspan_parse(traceparent, NULL, &context))
        return -1;
    token = cuspan_attach(&context);
    return token ? 0 : -1;
}

static int inject(const char *agent)
{
    void *library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    return initialize ? initialize() : -1;
}

/* Continues as the child; the parent ends as its child did. */
static int become_child(void)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        return 0;
    waitpid(pid, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

static int leak(void)
{
    void *volatile lost = malloc(1000);
    lost = NULL;
    return lost != NULL;
}

/* Like a daemon, whose own sockets then have the numbers of the closed ones. */
static int take_descriptors(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
    for (int number = 3; number < DESCRIPTORS; number++)
        close(number);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
        listen(listener, 4) != 0)
        return -1;
    for (int number = listener + 1; number < DESCRIPTORS; number++)
        dup2(listener, number);
    return 0;
}

static int step(const char *name, const char *agent)
{
    if (strcmp(name, "inject") == 0)
        return inject(agent);
    if (strcmp(name, "start") == 0)
        return cuspan_start(agent);
    if (strcmp(name, "stop") == 0)
        return cuspan_stop();
    if (strcmp(name, "flush") == 0)
        return cuspan_flush(FLUSH_MS);
    if (strcmp(name, "flush-0") == 0)
        return cuspan_flush(0);
    if (strcmp(name, "on") == 0)
        return cuspan_is_on();
    if (strcmp(name, "play") == 0)
        return play(true);
    if (strcmp(name, "play-waiting") == 0)
        return play(false);
    if (strcmp(name, "nap") == 0)
        return usleep(100000);
    if (strcmp(name, "line") == 0)
        return getchar() == EOF ? -1 : 0;
    if (strncmp(name, "attach=", 7) == 0)
        return attach(name + 7);
    if (strcmp(name, "detach") == 0)
        return cuspan_detach(token);
    if (strncmp(name, "step=", 5) == 0)
        return cuspan_step(atoll(name + 5));
    if (strcmp(name, "step-end") == 0)
        return cuspan_step_of_kind(0, CUSPAN_NO_STEP);
    if (strcmp(name, "child") == 0)
        return become_child();
    if (strcmp(name, "leak") == 0)
        return leak();
    if (strcmp(name, "descriptors") == 0)
        return take_descriptors();
    fprintf(stderr, "no step %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    load_double(argv[1], argv[2]);
    for (int i = 4; i < argc; i++) {
        int answer = step(argv[i], argv[3]);
        printf("%.*s: %d\n", (int)strcspn(argv[i], "="), argv[i], answer);
        fflush(stdout);
    }
    return 0;
}
