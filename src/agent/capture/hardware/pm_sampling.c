#include "agent/capture/hardware/pm_sampling.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "base/process/agent_thread.h"
#include "agent/capture/hardware/pm_sampler.h"
#include "agent/capture/threads/threads.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define STACK_BYTES       (512 * 1024)
#define READ_INTERVAL_NS  (500 * NS_PER_MS)   /* maximum: a read takes 1 to 20 ms (H200) */
#define END_NS            (2 * NS_PER_SECOND) /* wait for the thread: a step or a read takes less */
#define EXIT_HANDLERS_MAX 16                  /* exit handlers registered at most, enough for two openings */

void (*pm_sampling_follow_exit)(void);

/* Sums of one metric since the last export. */
struct sum {
    uint64_t samples;
    double level_ns, ns; /* time-weighted sum of levels, and the total time */
    double min, max;
};

enum device_state { DEVICE_UNUSED, DEVICE_USED, DEVICE_FAILED };

struct sampled_device {
    struct pm_sampler *sampler;
    uint64_t last_end_ns; /* of its last sample; 0: none yet */
};

/* Owned by the sampling thread, apart from the flags under the lock: GCC reads adjacent flags at once. */
static struct {
    struct sampled_device devices[DEVICES_MAX];
    bool has_failed;
} sampling;

static struct {
    const struct settings *settings;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* uses CLOCK_MONOTONIC */
    bool has_cond;
    pthread_t thread;
    _Atomic bool is_wanted; /* also read without the lock */
    bool has_thread, is_traced, is_ending, is_exit, is_stuck;
    uint8_t devices[DEVICES_MAX]; /* enum device_state */
    struct sum sums[DEVICES_MAX][GPU_COUNTERS_MAX];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void add_level(struct sum *sum, double level, double ns)
{
    if (!isfinite(level))
        return;
    sum->min = sum->samples == 0 || level < sum->min ? level : sum->min;
    sum->max = sum->samples == 0 || level > sum->max ? level : sum->max;
    sum->level_ns += level * ns;
    sum->ns += ns;
    sum->samples++;
}

static uint64_t interval_ns(void)
{
    return state.settings->counters.sampling.interval_us * 1000ull;
}

/* Returns the number of samples lost before this one: adjacent samples have no gap. The first sample's start
 * is unknown; it is assumed to have the nominal length. */
static uint64_t missing_before(const struct sampled_device *device, const struct pm_sample *sample)
{
    uint64_t length_ns = sample->start_ns ? sample->end_ns - sample->start_ns : interval_ns();
    uint64_t start_ns = sample->end_ns - length_ns;
    if (device->last_end_ns == 0 || start_ns <= device->last_end_ns)
        return 0;
    return (start_ns - device->last_end_ns + length_ns / 2) / length_ns;
}

static void add_sample(struct sum *sums, const struct pm_sample *sample)
{
    const struct pattern_list *metrics = &state.settings->counters.sampling.metrics;
    double ns = (double)(sample->end_ns - sample->start_ns);
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < metrics->count; i++)
        add_level(&sums[i], gpu_counter_level(metrics->patterns[i], sample->values[i], ns), ns);
    pthread_mutex_unlock(&state.lock);
    counter_add(COUNTER_gpu_samples, 1);
}

static void see_sample(void *context, const struct pm_sample *sample)
{
    struct sampled_device *device = context;
    if (sample->end_ns <= sample->start_ns)
        return; /* no time; counted with the next gap */
    counter_add(COUNTER_gpu_samples_lost, missing_before(device, sample));
    if (sample->start_ns)
        add_sample(state.sums[device - sampling.devices], sample);
    device->last_end_ns = sample->end_ns;
}

static void close_device(struct sampled_device *device)
{
    pm_sampler_close(device->sampler);
    *device = (struct sampled_device){.sampler = NULL};
}

/* Stops sampling a device permanently, because the same failure would repeat. Only the first of several GPUs
 * logs a warning. */
static void give_up(uint32_t i, const char *why)
{
    if (sampling.has_failed)
        log_info("GPU %u is not sampled: %s", i, why);
    else
        log_warn("hardware counters of GPU %u are not sampled: %s", i, why);
    sampling.has_failed = true;
    close_device(&sampling.devices[i]);
    pthread_mutex_lock(&state.lock);
    state.devices[i] = DEVICE_FAILED;
    pthread_mutex_unlock(&state.lock);
}

/* Registers the agent's exit handler again. CUPTI's libraries make static objects during the first opening,
 * whose destructors run before all exit handlers that were registered earlier. With one more handler after
 * each step, the agent ends before them. */
static void follow_exit(void)
{
    static unsigned handlers; /* only this thread uses it */
    if (pm_sampling_follow_exit && handlers++ < EXIT_HANDLERS_MAX)
        pm_sampling_follow_exit();
}

static bool is_cancelled(void)
{
    follow_exit();
    pthread_mutex_lock(&state.lock);
    bool is_ending = state.is_ending;
    pthread_mutex_unlock(&state.lock);
    return is_ending;
}

static void open_device(uint32_t i)
{
    struct error err;
    enum status status = pm_sampler_open(i, &state.settings->counters.sampling.metrics, interval_ns(),
                                         is_cancelled, &sampling.devices[i].sampler, &err);
    follow_exit();
    if (status != STATUS_OK && status != STATUS_END)
        give_up(i, err.text);
}

/* Opens the device's sampler again. The gap is counted when samples arrive again. */
static void open_anew(uint32_t i)
{
    log_once(log_warn,
             "lost hardware counter samples of GPU %u because its buffer overflowed; raise "
             "distribution.cuspan.counters.sampling.interval_us or name fewer metrics",
             i);
    pm_sampler_close(sampling.devices[i].sampler);
    sampling.devices[i].sampler = NULL;
    open_device(i);
}

static void read_device(uint32_t i)
{
    struct error err;
    enum status status = pm_sampler_read(sampling.devices[i].sampler, see_sample, &sampling.devices[i], &err);
    if (status == STATUS_FULL)
        open_anew(i);
    else if (status != STATUS_OK)
        give_up(i, err.text);
}

enum step { STEP_SAMPLE, STEP_PAUSE, STEP_END };

static void round_of_all(enum step step, const uint8_t *devices, bool is_exit)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        struct sampled_device *device = &sampling.devices[i];
        if (devices[i] != DEVICE_USED)
            continue;
        if (device->sampler)
            read_device(i);
        else if (step == STEP_SAMPLE)
            open_device(i);
        if (step != STEP_SAMPLE && !is_exit)
            close_device(device);
    }
}

/* Waits for the next read or a change. */
static void wait_locked(void)
{
    uint64_t most_ns = PM_SAMPLES_AT_ONCE / 2 * interval_ns();
    uint64_t wait_ns = most_ns < READ_INTERVAL_NS ? most_ns : READ_INTERVAL_NS;
    struct timespec deadline = clock_timespec(clock_monotonic_ns() + wait_ns);
    bool was_traced = state.is_traced;
    int result = 0;
    while (!state.is_ending && state.is_traced == was_traced && result != ETIMEDOUT)
        result = was_traced ? pthread_cond_timedwait(&state.changed, &state.lock, &deadline)
                            : pthread_cond_wait(&state.changed, &state.lock);
}

static void *run(void *unused)
{
    uint8_t devices[DEVICES_MAX];
    enum step step = STEP_SAMPLE;
    pthread_setname_np(pthread_self(), "cuspan/samples");
    thread_is_ours = true;
    pthread_mutex_lock(&state.lock);
    while (step != STEP_END) {
        step = state.is_ending ? STEP_END : state.is_traced ? STEP_SAMPLE : STEP_PAUSE;
        bool is_exit = state.is_exit;
        memcpy(devices, state.devices, sizeof devices);
        pthread_mutex_unlock(&state.lock);
        round_of_all(step, devices, is_exit);
        pthread_mutex_lock(&state.lock);
        if (step != STEP_END)
            wait_locked();
    }
    pthread_mutex_unlock(&state.lock);
    return unused;
}

/* Starts the thread if there is something to sample and it is not running. */
static void begin_thread_locked(void)
{
    bool has_used = memchr(state.devices, DEVICE_USED, sizeof state.devices) != NULL;
    if (!state.is_wanted || state.is_stuck || state.has_thread || !has_used)
        return;
    state.is_ending = state.is_exit = false;
    state.has_thread = agent_thread_start(&state.thread, STACK_BYTES, run, NULL) == 0;
    if (!state.has_thread)
        log_warn("hardware counters are not sampled: cannot start a thread");
    state.is_wanted = state.has_thread;
}

void pm_sampling_start(const struct settings *settings, const struct cupti *cupti)
{
    struct error err;
    if (!state.has_cond)
        agent_thread_init_cond(&state.changed);
    state.has_cond = true;
    if (settings->counters.sampling.metrics.count == 0 || !settings->metrics.is_on ||
        settings->counters.metrics.count > 0) /* counters allow only one owner */
        return;
    if (profiler_host_load(cupti, &err) != STATUS_OK) {
        log_warn("hardware counters are not sampled: %s", err.text);
        return;
    }
    pthread_mutex_lock(&state.lock);
    state.settings = settings;
    state.is_wanted = true;
    begin_thread_locked();
    pthread_mutex_unlock(&state.lock);
}

void pm_sampling_use(uint32_t device)
{
    if (!state.is_wanted || device >= DEVICES_MAX)
        return;
    pthread_mutex_lock(&state.lock);
    if (state.devices[device] == DEVICE_UNUSED)
        state.devices[device] = DEVICE_USED;
    begin_thread_locked();
    pthread_mutex_unlock(&state.lock);
}

void pm_sampling_follow(bool is_traced)
{
    if (!state.is_wanted || state.is_traced == is_traced)
        return;
    pthread_mutex_lock(&state.lock);
    state.is_traced = is_traced;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

static bool take_sum(struct sum *sum, struct pm_sampled *sampled)
{
    struct sum taken = *sum;
    if (taken.samples == 0)
        return false;
    *sum = (struct sum){.samples = 0};
    sampled->samples = taken.samples;
    sampled->mean = taken.level_ns / taken.ns;
    sampled->min = taken.min;
    sampled->max = taken.max;
    return true;
}

size_t pm_sampling_take(struct pm_sampled *sampled)
{
    size_t count = 0;
    pthread_mutex_lock(&state.lock);
    for (uint32_t device = 0; device < DEVICES_MAX; device++) {
        for (uint32_t metric = 0; metric < GPU_COUNTERS_MAX && state.devices[device]; metric++) {
            sampled[count].device = device;
            sampled[count].metric = metric;
            count += take_sum(&state.sums[device][metric], &sampled[count]);
        }
    }
    pthread_mutex_unlock(&state.lock);
    return count;
}

void pm_sampling_stop(bool is_exit)
{
    pthread_mutex_lock(&state.lock);
    state.is_ending = true;
    state.is_exit = is_exit;
    state.is_wanted = false;
    bool had_thread = state.has_thread;
    state.has_thread = false;
    pthread_cond_broadcast(&state.changed);
    pthread_mutex_unlock(&state.lock);
    if (!had_thread || agent_thread_end(state.thread, END_NS))
        return;
    state.is_stuck = true;
    if (!is_exit)
        log_warn("sampling of hardware counters stopped: its thread is blocked in CUPTI");
}
