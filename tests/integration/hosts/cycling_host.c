/* A program whose threads call CUDA while an agent in it is started and stopped from outside.
 *
 *   cycling_host LIBCUSPAN FAKE-CUPTI THREADS       makes callbacks itself; the fake only stores the callback
 *   cycling_host LIBCUSPAN DOUBLE RECORDING         plays the recording repeatedly with the replay library
 *   cycling_host LIBCUSPAN FAKE-CUPTI stuck         one thread enters a call, and then does as each line on
 *                                                   standard input says: leave, enter (another call), stop
 * (the tracing)
 *
 * It prints "ready" and runs until standard input ends, then prints how many calls were made. */
#include "host_support.h"
#include "agent/abi/cupti_abi.h"
#include "cuspan/cuspan.h"
#include "agent/recording/replay_seam.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX_HERE 64
#define CALL_ID          1 /* any call that detail full has */
#define PAUSE_EVERY      512

static atomic_bool is_over;
static _Atomic uint64_t calls, next_id;
static cupti_callback_fn *_Atomic *callback; /* the fake's variable; it contains NULL before a subscription */
static cuspan_replay_run_fn *replay;

static void tell(struct cupti_callback_data *data, int site)
{
    cupti_callback_fn *subscribed = atomic_load_explicit(callback, memory_order_acquire);
    data->callbackSite = site;
    if (subscribed)
        subscribed(NULL, CUPTI_DOMAIN_RUNTIME, CALL_ID, data);
}

static void *go_on_calling(void *unused)
{
    int32_t result = 0;
    uint64_t word = 0;
    struct cupti_callback_data data = {
        .functionReturnValue = &result, .contextUid = 1, .correlationData = &word};
    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        data.correlationId = (uint32_t)atomic_fetch_add(&next_id, 1) + 1;
        word = 0;
        tell(&data, CUPTI_SITE_ENTER);
        tell(&data, CUPTI_SITE_EXIT);
        if (atomic_fetch_add(&calls, 1) % PAUSE_EVERY == 0)
            usleep(1000);
    }
    return NULL;
}

static void *go_on_playing(void *unused)
{
    static const struct replay_options options = {.overload = true};
    struct replay_result result;
    struct error err = {""};
    while (!atomic_load(&is_over)) {
        if (replay(&options, &result, &err) == STATUS_OK)
            atomic_fetch_add(&calls, 1);
        usleep(1000);
    }
    return NULL;
}

static void announce(const char *word)
{
    puts(word);
    fflush(stdout);
}

static void be_stuck(const char *agent)
{
    char line[64];
    int32_t result = 0;
    uint64_t word = 0;
    struct cupti_callback_data data = {
        .functionReturnValue = &result, .contextUid = 1, .correlationData = &word, .correlationId = 1};
    const cuspan_api *api = ((const cuspan_api *(*)(uint32_t))find(agent, "cuspan_agent_api"))(1);
    tell(&data, CUPTI_SITE_ENTER);
    announce("ready");
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "stop\n") == 0) {
            api->stop();
            announce("stopping");
        } else if (strcmp(line, "enter\n") == 0) {
            data.correlationId++;
            tell(&data, CUPTI_SITE_ENTER);
            announce("entered");
        } else {
            tell(&data, CUPTI_SITE_EXIT);
            announce("left");
        }
    }
}

static void wait_for_end(void)
{
    char rest[64];
    while (fgets(rest, sizeof rest, stdin)) {
    }
}

static void load_recording(const char *library, const char *recording)
{
    struct error err = {""};
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)find(library, "cuspan_replay_load");
    replay = (cuspan_replay_run_fn *)find(library, "cuspan_replay_run");
    if (load(recording, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS_MAX_HERE];
    if (argc != 4)
        return 2;
    int count = atoi(argv[3]);
    bool is_stuck = strcmp(argv[3], "stuck") == 0;
    if (!count && !is_stuck)
        load_recording(argv[2], argv[3]);
    else
        callback = find(argv[2], "fake_callback");
    ((int (*)(void))find(argv[1], "InitializeInjection"))();
    if (is_stuck) {
        be_stuck(argv[1]);
        return 0;
    }
    int made = count ? count : 1;
    for (int i = 0; i < made && i < THREADS_MAX_HERE; i++)
        if (pthread_create(&threads[i], NULL, count ? go_on_calling : go_on_playing, NULL) != 0)
            return 2;
    puts("ready");
    fflush(stdout);
    wait_for_end();
    atomic_store(&is_over, true);
    for (int i = 0; i < made && i < THREADS_MAX_HERE; i++)
        pthread_join(threads[i], NULL);
    printf("%llu\n", (unsigned long long)atomic_load(&calls));
    return 0;
}
