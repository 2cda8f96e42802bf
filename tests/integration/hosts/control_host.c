/* A program that starts and stops its tracing with cuspan.h, step by step:
 *
 *   control_host DOUBLE RECORDING AGENT STEP...
 *
 * inject (as CUDA does), late (as `cuspan attach`, with the variables in ATTACH_SETTINGS; prints "attached
 * ANSWER VERSION"), start (loads AGENT if it is not loaded), stop, flush (5 s), flush-0 (no time at all), on
 * (is it tracing?), play (the recorded calls), play-waiting (for the agent, too), nap (100 ms), line (waits
 * for one on standard input), attach=TRACEPARENT, detach, step=NUMBER, step-end, child (runs the following
 * steps in a forked child), leak (leaks a block of memory), descriptors (closes all from 3 on, and opens its
 * own listening socket at each of their numbers). Each step prints "STEP: ANSWER".
 *
 * With steered_replay as DOUBLE: stop-held (stops, and waits until the agent, which has seen it, flushes; the
 * flush waits, too), let-go (which ends this wait), later=SECONDS (moves the
 * agent's clock).
 *
 * A serving engine: request=ID[,TRACEPARENT[,HEADER=VALUE]], iteration=NUMBER (with a part of each request:
 * at first a prefill of 20 tokens, then a decode), rank=NUMBER (of later iterations), here=NUMBER (attaches
 * that iteration to the thread), iteration-end, summary=NUMBER, request-end=ID. */
#include "cuspan/cuspan.h"
#include "forked_child.h"
#include "agent/recording/replay_seam.h"

#include <semaphore.h>
#include <stdatomic.h>
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
static _Atomic(void (*)(void)) *steered_flush;
static _Atomic uint64_t *steered_ns;
static sem_t flush_came, flush_may_go;
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
    steered_flush = dlsym(library, "steered_flush");
    steered_ns = dlsym(library, "steered_ns");
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

/* On the agent's thread. */
static void hold_flush(void)
{
    if (cuspan_is_on())
        return; /* one before the stop */
    atomic_store(steered_flush, NULL);
    sem_post(&flush_came);
    sem_wait(&flush_may_go);
}

static int stop_held(void)
{
    sem_init(&flush_came, 0, 0);
    sem_init(&flush_may_go, 0, 0);
    atomic_store(steered_flush, hold_flush);
    int answer = cuspan_stop();
    sem_wait(&flush_came);
    return answer;
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

#define REQUESTS_MAX 64

static struct {
    char id[32];
    cuspan_part part;
} requests[REQUESTS_MAX];
static int32_t engine_rank;

static int begin_request(const char *words)
{
    cuspan_context context;
    const char *comma = strchr(words, ','), *second = comma ? strchr(comma + 1, ',') : NULL;
    char name[64] = "";
    cuspan_header header = {name, ""};
    if (second) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(second + 1, "="), second + 1);
        header.value = second + 1 + strlen(name) + 1;
    }
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        if (requests[i].part.request)
            continue;
        snprintf(requests[i].id, sizeof requests[i].id, "%.*s", (int)strcspn(words, ","), words);
        cuspan_request_info info = {.context =
                                        comma && cuspan_parse(comma + 1, NULL, &context) ? &context : NULL,
                                    .id = requests[i].id,
                                    .prompt_tokens = 20,
                                    .headers = &header,
                                    .header_count = second != NULL};
        requests[i].part =
            (cuspan_part){.request = cuspan_request(&info), .phase = CUSPAN_PREFILL, .tokens = 20};
        return requests[i].part.request ? 0 : -1;
    }
    return -1;
}

static int end_request(const char *id)
{
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        if (!requests[i].part.request || strcmp(requests[i].id, id) != 0)
            continue;
        int answer = cuspan_request_end(requests[i].part.request, CUSPAN_FINISHED,
                                        requests[i].part.computed ? requests[i].part.computed - 19 : 0);
        requests[i].part.request = 0;
        return answer;
    }
    return -1;
}

static int summary(int64_t number)
{
    cuspan_iteration_info info = {
        .engine = "test", .seed = 7, .number = number, .rank = engine_rank, .ranks = 2};
    return cuspan_iteration_summary(&info);
}

static int iteration(int64_t number, bool here)
{
    cuspan_part parts[REQUESTS_MAX];
    cuspan_iteration_info info = {
        .engine = "test", .seed = 7, .number = number, .rank = engine_rank, .ranks = 2, .parts = parts};
    if (here)
        return (token = cuspan_iteration_here(&info)) ? 0 : -1;
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        cuspan_part *part = &requests[i].part;
        if (!part->request)
            continue;
        parts[info.count++] = *part;
        part->computed += part->tokens;
        part->phase = CUSPAN_DECODE;
        part->tokens = 1;
    }
    return cuspan_iteration(&info);
}

static int serve(const char *name)
{
    if (strncmp(name, "request=", 8) == 0)
        return begin_request(name + 8);
    if (strncmp(name, "request-end=", 12) == 0)
        return end_request(name + 12);
    if (strncmp(name, "iteration=", 10) == 0)
        return iteration(atoll(name + 10), false);
    if (strncmp(name, "here=", 5) == 0)
        return iteration(atoll(name + 5), true);
    if (strncmp(name, "summary=", 8) == 0)
        return summary(atoll(name + 8));
    if (strcmp(name, "iteration-end") == 0)
        return cuspan_iteration_end();
    if (strncmp(name, "rank=", 5) == 0) {
        engine_rank = atoi(name + 5);
        return 0;
    }
    fprintf(stderr, "no step %s\n", name);
    exit(2);
}

static int attach_late(const char *agent)
{
    char message[ERROR_TEXT_MAX] = "";
    void *library = dlopen(agent, RTLD_NOW);
    int (*enter)(const char *, char *, size_t) =
        library ? (int (*)(const char *, char *, size_t))dlsym(library, "cuspan_agent_attach") : NULL;
    int answer = enter ? enter(getenv("ATTACH_SETTINGS"), message, sizeof message) : -2;
    printf("attached %d %s\n", answer, message);
    return answer;
}

static int step(const char *name, const char *agent)
{
    if (strcmp(name, "inject") == 0)
        return inject(agent);
    if (strcmp(name, "late") == 0)
        return attach_late(agent);
    if (strcmp(name, "start") == 0)
        return cuspan_start(agent);
    if (strcmp(name, "stop") == 0)
        return cuspan_stop();
    if (strcmp(name, "stop-held") == 0)
        return stop_held();
    if (strcmp(name, "let-go") == 0)
        return sem_post(&flush_may_go);
    if (strncmp(name, "later=", 6) == 0) {
        atomic_fetch_add(steered_ns, strtoull(name + 6, NULL, 10) * 1000000000);
        return 0;
    }
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
    return serve(name);
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
