/* A program with its own profiler, which uses CUPTI through its classic calls, like PyTorch's, step by step:
 *
 *   other_tool_host RECORDING AGENT STEP...
 *
 * inject (as CUDA does), expect (as the Python package does once PyTorch is loaded), play (the recorded
 * calls), loop (plays as often as cuspan_loop_next requests; prints how often), loop-left (leaves it after
 * one iteration), play-on (repeatedly, on a thread), play-off, on (waits until the agent traces, 20 s at
 * most), subscribe-several (with the subscriber API, allowing others), subscribe, clock, register, kinds
 * (kernels, copies, memsets), kinds-off, no-clock (it expects CUPTI's), flush, flush-forced, flush-on
 * (repeatedly, on a thread, until the end), period=MS (CUPTI flushes), agent-flush (the agent's), agent-start
 * (as cuspan start), bytes=N and records=N (for its buffers), thread-buffers (one for each thread),
 * unsubscribe, finalize, fini-callback (unsubscribes and finalizes in a call's callback, like PyTorch),
 * ask-fini (does so in the next call, whenever that is; has-fini checks whether it has), nap=MS. tool-on is
 * subscribe, clock, register and kinds; tool-off is kinds-off and flush. Each step prints "STEP: ANSWER",
 * with CUPTI's result if there is one. count prints what the profiler received since the last count: "count:
 * kernels N copies N wrong N ns N buffers N lent N", the last one being its buffers that CUPTI has now. */
#include "agent/abi/cupti_abi.h"
#include "agent/abi/layouts.h"
#include "cuspan/cuspan.h"
#include "model/cuda/activities.h"
#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (64 * 1024)
#define PAUSE_MS     5
#define BUFFERS      64
#define CLOCK_LEAD   5000000000000000ull /* of the profiler's own clock */

extern cuspan_replay_clock_fn cuspan_replay_clock;
extern cuspan_replay_load_fn cuspan_replay_load;
extern cuspan_replay_run_fn cuspan_replay_run;

#define DECLARE(name, params) extern name##_fn name;
CUPTI_CLASSIC_CALLS(DECLARE)
CUPTI_NAMED_SUBSCRIBER_CALLS(DECLARE)

static cupti_subscriber_handle subscriber;
static atomic_bool is_to_finalize, is_playing;
static _Atomic uint64_t kernels, copies, wrong, duration_ns, filled, callbacks;
static _Atomic size_t buffer_bytes = BUFFER_BYTES, buffer_records;
static atomic_bool has_clock;
static pthread_t player;

static uint64_t profilers_clock(void)
{
    return cuspan_replay_clock() + CLOCK_LEAD;
}

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback_data *call = data;
    if (userdata != &subscriber)
        atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&callbacks, 1);
    if (domain != CUPTI_DOMAIN_RUNTIME || call->callbackSite != CUPTI_SITE_EXIT ||
        !atomic_exchange(&is_to_finalize, false))
        return;
    cuptiUnsubscribe(subscriber);
    cuptiFinalize();
    subscriber = NULL;
}

/* Its own buffers, to recognize others: CUPTI may return another subscriber's. */
static _Alignas(CUPTI_RECORD_ALIGNMENT) uint8_t buffers[BUFFERS][BUFFER_BYTES];
static atomic_bool is_lent[BUFFERS];

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = *max_records = 0;
    for (size_t i = 0; i < BUFFERS && !*buffer; i++) {
        if (atomic_exchange(&is_lent[i], true))
            continue;
        *buffer = memset(buffers[i], 0, BUFFER_BYTES);
        *size = atomic_load(&buffer_bytes);
        *max_records = atomic_load(&buffer_records);
    }
}

static bool take_back(const uint8_t *buffer)
{
    size_t place = (size_t)(buffer - buffers[0]) / BUFFER_BYTES;
    return buffer >= buffers[0] && place < BUFFERS && atomic_load(&is_lent[place]);
}

static void give_back(const uint8_t *buffer)
{
    atomic_store(&is_lent[(size_t)(buffer - buffers[0]) / BUFFER_BYTES], false);
}

static uint64_t field(const uint8_t *record, uint16_t kind, enum activity_role role)
{
    uint32_t version = 0;
    uint64_t value = 0;
    cuptiGetVersion(&version);
    const struct activity_layout *layout = layout_classic(version, kind);
    for (uint8_t i = 0; layout && i < activity_table[kind].field_count; i++)
        if (activity_table[kind].fields[i].role == role)
            memcpy(&value, record + layout->fields[i].offset, sizeof value);
    return value;
}

/* Whether the times come from the clock that the profiler registered. */
static void count_interval(const uint8_t *record, uint16_t kind)
{
    uint64_t start_ns = field(record, kind, ROLE_START), end_ns = field(record, kind, ROLE_END);
    uint64_t lead_ns = has_clock ? CLOCK_LEAD : 0, now_ns = cuspan_replay_clock() + lead_ns;
    uint64_t day_ns = 86400ull * 1000000000;
    bool is_right = start_ns <= end_ns && start_ns + day_ns > now_ns && end_ns < now_ns + day_ns;
    atomic_fetch_add(&wrong, !is_right);
    atomic_fetch_add(&duration_ns, end_ns - start_ns);
}

static void on_complete(cuda_context_handle context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    struct cupti_activity *record = NULL;
    (void)context, (void)stream, (void)size;
    if (!buffer || !take_back(buffer))
        return;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK) {
        uint32_t kind = record->kind;
        if (kind != ACTIVITY_KERNEL && kind != ACTIVITY_MEMCPY)
            continue;
        atomic_fetch_add(kind == ACTIVITY_KERNEL ? &kernels : &copies, 1);
        count_interval((const uint8_t *)record, (uint16_t)kind);
    }
    atomic_fetch_add(&filled, valid > 0);
    give_back(buffer);
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int play(void)
{
    static const struct replay_options options = {.repeat = 1};
    struct replay_result result;
    struct error err = {""};
    if (cuspan_replay_run(&options, &result, &err) == STATUS_OK)
        return 0;
    fprintf(stderr, "other_tool_host: %s\n", err.text);
    return -1;
}

static pthread_t flusher;

static void *flush_on(void *unused)
{
    for (;;) {
        (void)cuptiActivityFlushAll(CUPTI_FLUSH_DEFAULT);
        nap(1);
    }
    return unused;
}

static void *play_on(void *unused)
{
    while (atomic_load(&is_playing)) {
        play();
        nap(PAUSE_MS);
    }
    return NULL;
}

static int inject(const char *agent)
{
    void *library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    return initialize ? initialize() : -1;
}

static int expect(const char *agent)
{
    void *library = dlopen(agent, RTLD_NOW | RTLD_LOCAL);
    void (*tools)(void) = library ? (void (*)(void))dlsym(library, "cuspan_python_tools") : NULL;
    if (tools)
        tools();
    return tools ? 0 : -1;
}

static int wait_for_agent(const char *agent)
{
    void *library = dlopen(agent, RTLD_NOW | RTLD_NOLOAD);
    const cuspan_api *(*api)(uint32_t) =
        library ? (const cuspan_api *(*)(uint32_t))dlsym(library, "cuspan_agent_api") : NULL;
    bool is_on = false;
    for (int ms = 0; api && ms < 20000 && !is_on; ms += PAUSE_MS) {
        is_on = api(1)->is_on();
        nap(PAUSE_MS);
    }
    return is_on ? 0 : -1;
}

static const uint32_t kinds[] = {ACTIVITY_MEMCPY, ACTIVITY_MEMSET, ACTIVITY_KERNEL};

static uint32_t set_kinds(bool on)
{
    uint32_t worst = CUPTI_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        /* Kernels are enabled first and disabled last. */
        uint32_t kind = kinds[on ? sizeof kinds / sizeof *kinds - 1 - i : i];
        uint32_t result = on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind);
        worst = result ? result : worst;
    }
    return worst;
}

static uint32_t set_clock(void)
{
    uint32_t result = cuptiActivityRegisterTimestampCallback(profilers_clock);
    has_clock = result == CUPTI_OK;
    return result;
}

static uint32_t tool_on(void)
{
    uint32_t result = subscriber ? CUPTI_OK : cuptiSubscribe(&subscriber, on_callback, &subscriber);
    if (result == CUPTI_OK)
        result = set_clock();
    if (result == CUPTI_OK)
        result = cuptiActivityRegisterCallbacks(on_request, on_complete);
    return result == CUPTI_OK ? set_kinds(true) : result;
}

static uint32_t tool_off(void)
{
    uint32_t result = set_kinds(false);
    return result == CUPTI_OK ? cuptiActivityFlushAll(0) : result;
}

static int ask_for_callback(void)
{
    atomic_store(&is_to_finalize, true);
    return (int)cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_RUNTIME);
}

static int finalize_in_callback(void)
{
    int result = ask_for_callback();
    int played = result == CUPTI_OK ? play() : result;
    return atomic_load(&is_to_finalize) ? -3 : played;
}

static int unsubscribe(void)
{
    uint32_t result = cuptiUnsubscribe(subscriber);
    subscriber = NULL;
    return (int)result;
}

static int loop(bool is_left)
{
    cuspan_loop looped = cuspan_loop_begin("looped");
    uint32_t runs = 0;
    while (cuspan_loop_next(&looped)) {
        int result = play();
        if (result)
            return result;
        runs++;
        if (is_left)
            return cuspan_end(looped.range);
    }
    return (int)runs;
}

static int count(void)
{
    int lent = 0;
    for (size_t i = 0; i < BUFFERS; i++)
        lent += atomic_load(&is_lent[i]);
    printf("count: kernels %llu copies %llu wrong %llu ns %llu buffers %llu lent %d\n",
           (unsigned long long)atomic_exchange(&kernels, 0), (unsigned long long)atomic_exchange(&copies, 0),
           (unsigned long long)atomic_exchange(&wrong, 0),
           (unsigned long long)atomic_exchange(&duration_ns, 0),
           (unsigned long long)atomic_exchange(&filled, 0), lent);
    return 0;
}

static uint32_t subscribe_several(void)
{
    struct cupti_subscriber_params params = {
        .structSize = sizeof params, .subscriberName = "monitor", .allowMultipleSubscribers = 1};
    return cuptiSubscribe_v2(&subscriber, on_callback, &subscriber, &params);
}

static int step_of_the_profiler(const char *name)
{
    const struct {
        const char *name;
        uint32_t (*run)(void);
    } steps[] = {
        {"tool-on", tool_on}, {"tool-off", tool_off}, {"clock", set_clock}, {"finalize", cuptiFinalize}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(name, steps[i].name) == 0)
            return (int)steps[i].run();
    if (strncmp(name, "loop", 4) == 0)
        return loop(name[4] != '\0');
    if (strcmp(name, "subscribe") == 0)
        return (int)cuptiSubscribe(&subscriber, on_callback, &subscriber);
    if (strcmp(name, "subscribe-several") == 0)
        return (int)subscribe_several();
    if (strcmp(name, "unsubscribe") == 0)
        return unsubscribe();
    if (strcmp(name, "register") == 0)
        return (int)cuptiActivityRegisterCallbacks(on_request, on_complete);
    if (strcmp(name, "kinds") == 0 || strcmp(name, "kinds-off") == 0)
        return (int)set_kinds(strcmp(name, "kinds") == 0);
    if (strcmp(name, "flush-on") == 0)
        return pthread_create(&flusher, NULL, flush_on, NULL);
    if (strncmp(name, "flush", 5) == 0)
        return (int)cuptiActivityFlushAll(name[5] ? CUPTI_FLUSH_FORCED : CUPTI_FLUSH_DEFAULT);
    if (strcmp(name, "ask-fini") == 0)
        return ask_for_callback();
    if (strcmp(name, "has-fini") == 0)
        return subscriber ? -4 : 0;
    return strcmp(name, "fini-callback") == 0 ? finalize_in_callback() : -2;
}

/* The command is next to the agent. */
static int start_agent(const char *agent)
{
    char command[1000];
    fflush(stdout);
    snprintf(command, sizeof command, "exec env -u LD_PRELOAD '%.*s/cuspan' start %d >/dev/null",
             (int)(strrchr(agent, '/') - agent), agent, (int)getpid());
    int ended = system(command);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

static int step(const char *name, const char *agent)
{
    if (strcmp(name, "inject") == 0)
        return inject(agent);
    if (strcmp(name, "expect") == 0)
        return expect(agent);
    if (strcmp(name, "play") == 0)
        return play();
    if (strcmp(name, "count") == 0)
        return count();
    if (strcmp(name, "on") == 0)
        return wait_for_agent(agent);
    if (strcmp(name, "agent-flush") == 0)
        return cuspan_flush(20000);
    if (strcmp(name, "agent-start") == 0)
        return start_agent(agent);
    if (strncmp(name, "bytes=", 6) == 0)
        return atomic_store(&buffer_bytes, strtoul(name + 6, NULL, 10)), 0;
    if (strncmp(name, "records=", 8) == 0)
        return atomic_store(&buffer_records, strtoul(name + 8, NULL, 10)), 0;
    if (strncmp(name, "period=", 7) == 0)
        return (int)cuptiActivityFlushPeriod((uint32_t)strtoul(name + 7, NULL, 10));
    if (strcmp(name, "thread-buffers") == 0)
        return (int)cuptiActivitySetAttribute(CUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &(size_t){1},
                                              &(uint8_t){1});
    if (strcmp(name, "no-clock") == 0)
        return atomic_exchange(&has_clock, false) ? 0 : -1;
    if (strncmp(name, "nap=", 4) == 0)
        return nap(strtol(name + 4, NULL, 10)), 0;
    if (strcmp(name, "play-on") == 0) {
        atomic_store(&is_playing, true);
        return pthread_create(&player, NULL, play_on, NULL);
    }
    if (strcmp(name, "play-off") == 0) {
        atomic_store(&is_playing, false);
        return pthread_join(player, NULL);
    }
    return step_of_the_profiler(name);
}

int main(int argc, char **argv)
{
    struct error err = {""};
    if (argc < 4 || cuspan_replay_load(argv[1], &err) != STATUS_OK) {
        fprintf(stderr, "other_tool_host: %s\n", err.text);
        return 2;
    }
    for (int i = 3; i < argc; i++)
        printf("%s: %d\n", argv[i], step(argv[i], argv[2]));
    printf("host: done\n");
    return 7;
}
