#include "capture/gpu_counters.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/trace_context.h"
#include "capture/params.h"
#include "capture/profiler.h"
#include "capture/thread_context.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CONTEXTS_MAX 16
#define WAIT_STEP_NS (100 * 1000)
#define NAME_BYTES   1024 /* of a kernel's mangled name that patterns are compared with */
#define SPIN_NS      NS_PER_MS
#define PAUSE_NS     50000

/* They wait for kernels on other GPUs, or for one another: waiting for one of them alone may never end. */
static const char *const talkative[] = {"nccl",       "nvshmem",   "cross_device",   "multimem",
                                        "all_reduce", "allreduce", "all_gather",     "allgather",
                                        "all_to_all", "alltoall",  "reduce_scatter", "deep_ep",
                                        "symm_mem",   "twoshot",   "oneshot"};

static struct {
    const struct settings *settings;
    const struct cupti *cupti;
    _Atomic bool is_on;
    _Atomic uint32_t until_next; /* launches */
    _Atomic bool is_taken;       /* something is counted; who counts has all below */
    struct {
        cuda_context_handle handle;
        struct profiler *kernels, *ranges;
    } contexts[CONTEXTS_MAX];
    size_t context_count;
    struct profiler *counting;
    cuda_stream_handle stream; /* of the launch */
#define DRIVER_MEMBER(name, params) name##_fn *name;
    PROFILER_DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} state;

_Atomic bool gpu_counters_have_ranges;
static _Atomic uint64_t counted_range; /* its ID; 0: none */
static struct attr_key keys[GPU_COUNTERS_MAX];

/* --- on and off --- */

static bool find_driver_calls(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    bool is_complete = true;
#define FIND(name, params)                                                                                   \
    state.name = (name##_fn *)dlsym(state.cupti->handle, #name); /* a replay's */                            \
    if (!state.name && driver)                                                                               \
        state.name = (name##_fn *)dlsym(driver, #name);                                                      \
    is_complete &= state.name != NULL;
    PROFILER_DRIVER_CALLS(FIND)
#undef FIND
    return is_complete;
}

void gpu_counters_start(const struct settings *settings, const struct cupti *cupti)
{
    struct error err;
    atomic_store(&state.is_on, false);
    atomic_store(&gpu_counters_have_ranges, false);
    state.settings = settings;
    state.cupti = cupti;
    if (settings->counters.metrics.count == 0)
        return;
    if (profiler_load(cupti, &err) != STATUS_OK || !find_driver_calls()) {
        log_warn("no hardware counters: %s",
                 state.cuCtxSynchronize ? err.text : "the driver's calls can't be found");
        return;
    }
    for (size_t i = 0; i < settings->counters.metrics.count && i < GPU_COUNTERS_MAX; i++)
        (void)gpu_counter_key(settings->counters.metrics.patterns[i], &keys[i]);
    atomic_store(&state.until_next, 1);
    atomic_store(&gpu_counters_have_ranges, settings->counters.ranges.count > 0);
    atomic_store(&state.is_on, true);
}

/* For good: what went wrong once would go wrong again, at each launch. */
static void give_up(const char *why)
{
    if (atomic_exchange(&state.is_on, false))
        log_warn("no more hardware counters: %s", why);
    atomic_store(&gpu_counters_have_ranges, false);
    counter_add(COUNTER_gpu_counts_lost, 1);
}

static bool take(void)
{
    return !atomic_exchange_explicit(&state.is_taken, true, memory_order_acquire);
}

static void let_go(void)
{
    atomic_store_explicit(&state.is_taken, false, memory_order_release);
}

static bool take_within(uint32_t wait_ms)
{
    uint64_t deadline_ns = clock_monotonic_ns() + wait_ms * NS_PER_MS;
    while (!take()) {
        if (clock_monotonic_ns() > deadline_ns)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_NS}, NULL);
    }
    return true;
}

/* --- which --- */

bool gpu_counters_concern(enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = call_info(domain, cbid);
    const struct settings *settings = state.settings;
    if (!atomic_load(&state.is_on) || !info || info->group != CALL_GROUP_LAUNCH ||
        settings->counters.ranges.count > 0)
        return false;
    const char *name = call_name(info);
    bool is_cooperative = strstr(name, "Cooperative") != NULL;
    bool is_kernel = strstr(name, "LaunchKernel") != NULL || is_cooperative;
    return is_kernel && !(is_cooperative && settings->counters.replay == REPLAY_KERNEL) &&
           !strstr(name, "MultiDevice");
}

static bool contains(const char *name, const char *pattern)
{
    char anywhere[NAME_BYTES];
    int length = snprintf(anywhere, sizeof anywhere, "*%s*", pattern);
    return length > 0 && (size_t)length < sizeof anywhere && fnmatch(anywhere, name, 0) == 0;
}

static bool contains_one_of(const char *name, const struct pattern_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (contains(name, list->patterns[i]))
            return true;
    return false;
}

/* What isn't sampled has no span to put its counts on. */
static bool is_sampled(void)
{
    static const struct trace_id_pair none;
    const struct thread_context *context = thread_context_self;
    bool has_context = context && context->version && memcmp(&context->ids, &none, sizeof none) != 0;
    return !has_context || !state.settings->sampler_parent_based || context->flags & TRACE_FLAG_SAMPLED;
}

/* Names are mangled here: a name in them stands there as it is. */
static bool may_count_kernel(const char *name)
{
    const struct filter *kernels = &state.settings->counters.kernels;
    for (size_t i = 0; i < sizeof talkative / sizeof *talkative; i++)
        if (strcasestr(name, talkative[i]))
            return false;
    return (kernels->allow.count == 0 || contains_one_of(name, &kernels->allow)) &&
           !contains_one_of(name, &kernels->deny);
}

/* One in so many, of all threads. */
static bool is_turn(void)
{
    uint32_t before = atomic_fetch_sub_explicit(&state.until_next, 1, memory_order_relaxed);
    if (before != 1)
        return false;
    atomic_store_explicit(&state.until_next, state.settings->counters.period, memory_order_relaxed);
    return true;
}

/* To the next. */
static void pass_turn_on(void)
{
    atomic_store_explicit(&state.until_next, 1, memory_order_relaxed);
}

/* --- the launch's stream --- */

static cuda_stream_handle stream_of(enum call_domain domain, uint32_t cbid,
                                    const struct cupti_callback_data *data)
{
    const struct call_info *info = call_info(domain, cbid);
    uintptr_t stream = 0;
    if (!info)
        return NULL;
    for (uint8_t i = 0; i < info->param_count; i++) {
        const char *key = call_param_keys[call_params[info->param + i].key].name;
        const struct param_source *source = &param_sources[info->param + i];
        if (strcmp(key, "cuda.arg.stream") != 0 && strcmp(key, "cuda.arg.hStream") != 0)
            continue;
        const uint8_t *at = (const uint8_t *)data->functionParams + source->offset;
        if (source->how & PARAM_DEREF) {
            memcpy(&at, at, sizeof at);
            at = at ? at + source->member : NULL;
        }
        if (at)
            memcpy(&stream, at, sizeof stream);
    }
    if (stream == 0 && strstr(call_name(info), "_ptsz"))
        stream = CUDA_STREAM_PER_THREAD;
    return (cuda_stream_handle)stream;
}

/* False: it is being captured into a graph, so nothing runs now, and waiting would spoil the capture. */
static bool runs_now(cuda_stream_handle stream)
{
    uint32_t status = 1;
    return state.cuStreamIsCapturing(stream, &status) == CUDA_OK && status == 0;
}

/* False: the time is over, and it works still. */
static bool wait_for_stream(cuda_stream_handle stream)
{
    uint64_t begin = clock_monotonic_ns(), waited_ns = 0;
    while (state.cuStreamQuery(stream) == CUDA_NOT_READY) {
        waited_ns = clock_monotonic_ns() - begin;
        if (waited_ns > state.settings->counters.wait_ms * NS_PER_MS)
            return false;
        if (waited_ns < SPIN_NS)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return true;
}

/* --- counting --- */

static struct profiler **place_of(cuda_context_handle context, bool is_range)
{
    size_t i = 0;
    while (i < state.context_count && state.contexts[i].handle != context)
        i++;
    if (i == CONTEXTS_MAX)
        return NULL;
    if (i == state.context_count) {
        memset(&state.contexts[i], 0, sizeof state.contexts[i]);
        state.contexts[i].handle = context;
        state.context_count++;
    }
    return is_range ? &state.contexts[i].ranges : &state.contexts[i].kernels;
}

/* The context's profiler, made at its first use. NULL: there is none to be had. */
static struct profiler *profiler_of(cuda_context_handle context, bool is_range)
{
    struct error err = {"too many contexts"};
    struct profiler **place = context ? place_of(context, is_range) : NULL;
    enum profiler_scope scope = is_range                                           ? PROFILER_WHOLE
                                : state.settings->counters.replay == REPLAY_KERNEL ? PROFILER_REPLAYS
                                                                                   : PROFILER_KERNELS;
    if (!place || (!*place && profiler_open(context, &state.settings->counters.metrics, scope, place, &err) !=
                                  STATUS_OK)) {
        give_up(err.text);
        return NULL;
    }
    return *place;
}

static bool begin(cuda_context_handle context, bool is_range)
{
    struct error err;
    state.counting = profiler_of(context, is_range);
    if (state.counting && profiler_begin(state.counting, &err) == STATUS_OK)
        return true;
    if (state.counting)
        give_up(err.text);
    return false;
}

/* OK with `*count` 1: the values are there. */
static bool end(double *values, size_t *count)
{
    struct error err;
    if (profiler_end(state.counting, values, count, &err) != STATUS_OK) {
        give_up(err.text);
        return false;
    }
    return true;
}

/* --- launches --- */

void gpu_counters_enter(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                        const struct cupti_callback_data *data)
{
    if (!atomic_load_explicit(&state.is_on, memory_order_relaxed) || !is_turn())
        return;
    bool may_count =
        data->context && data->symbolName && is_sampled() && may_count_kernel(data->symbolName) && take();
    if (!may_count) {
        pass_turn_on();
        return;
    }
    int saved_errno = errno;
    thread_is_ours = true;
    state.stream = stream_of(domain, cbid, data);
    bool is_counted = runs_now(state.stream) && begin(data->context, false);
    thread_is_ours = false;
    errno = saved_errno;
    if (is_counted) {
        thread->counted_launch = data->correlationId;
        return;
    }
    pass_turn_on();
    let_go();
}

static void write_counts(struct host_thread *thread, uint32_t correlation_id, const double *values)
{
    uint32_t count = (uint32_t)profiler_metric_count(state.counting);
    uint32_t bytes = (uint32_t)(sizeof(struct gpu_counters_record) + count * sizeof *values);
    struct gpu_counters_record *record = ring_reserve(&thread->ring, bytes);
    if (!record) {
        counter_add(COUNTER_gpu_counts_lost, 1);
        return;
    }
    *record = (struct gpu_counters_record){.head = {bytes, RECORD_GPU_COUNTERS, 0, 0},
                                           .time_ns = clock_ticks(),
                                           .correlation_id = correlation_id,
                                           .count = count};
    memcpy(record->values, values, count * sizeof *values);
    ring_commit(&thread->ring, bytes);
    counter_add(COUNTER_gpu_counts, 1);
}

/* What other threads launched meanwhile was counted, too: which of the counts is ours nobody tells. A launch
 * that failed has none. */
static void finish_launch(struct host_thread *thread, uint32_t correlation_id)
{
    double values[GPU_COUNTERS_MAX];
    size_t count = 0;
    if (!wait_for_stream(state.stream)) {
        give_up(
            "a kernel that was counted did not end in time (distribution.cuspan.counters.wait_ms): does it "
            "wait for another? Name it in counters.kernels.deny");
        state.context_count = 0; /* what counts it is never touched again: CUPTI would wait for it */
        return;
    }
    if (!end(values, &count))
        return;
    if (count == 1)
        write_counts(thread, correlation_id, values);
    else
        counter_add(COUNTER_gpu_counts_lost, count > 1);
}

void gpu_counters_exit(struct host_thread *thread, const struct cupti_callback_data *data)
{
    if (thread->counted_launch == 0 || thread->counted_launch != data->correlationId)
        return;
    int saved_errno = errno;
    thread_is_ours = true;
    finish_launch(thread, thread->counted_launch);
    thread_is_ours = false;
    errno = saved_errno;
    thread->counted_launch = 0;
    let_go();
}

/* --- ranges --- */

static bool is_range_named(const char *name, uint32_t name_bytes)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(name_bytes < sizeof text ? name_bytes : sizeof text - 1), name);
    const struct pattern_list *ranges = &state.settings->counters.ranges;
    for (size_t i = 0; i < ranges->count; i++)
        if (fnmatch(ranges->patterns[i], text, 0) == 0)
            return true;
    return false;
}

void gpu_counters_enter_range(uint64_t id, const char *name, uint32_t name_bytes)
{
    cuda_context_handle context = NULL;
    if (!is_range_named(name, name_bytes) || !is_sampled() || !is_turn() || !take())
        return;
    int saved_errno = errno;
    thread_is_ours = true;
    bool is_counted = state.cuCtxGetCurrent(&context) == CUDA_OK && context &&
                      state.cuCtxSynchronize() == CUDA_OK && begin(context, true);
    thread_is_ours = false;
    errno = saved_errno;
    if (is_counted)
        atomic_store(&counted_range, id);
    else
        let_go();
}

static uint32_t name_values(const double *values, struct range_attr *attrs)
{
    uint32_t count = 0;
    for (size_t i = 0; i < state.settings->counters.metrics.count; i++)
        if (isfinite(values[i]))
            attrs[count++] = (struct range_attr){
                .key = keys[i].name, .key_bytes = keys[i].len, .type = ATTR_DOUBLE, .d = values[i]};
    return count;
}

uint32_t gpu_counters_exit_range(uint64_t id, struct range_attr *attrs)
{
    double values[GPU_COUNTERS_MAX];
    uint64_t expected = id;
    size_t ranges = 0;
    uint32_t count = 0;
    if (id == 0 || !atomic_compare_exchange_strong(&counted_range, &expected, 0))
        return 0;
    int saved_errno = errno;
    thread_is_ours = true;
    if (state.cuCtxSynchronize() == CUDA_OK && end(values, &ranges) && ranges > 0) {
        count = name_values(values, attrs);
        counter_add(COUNTER_gpu_counts, 1);
    } else {
        counter_add(COUNTER_gpu_counts_lost, 1);
    }
    thread_is_ours = false;
    errno = saved_errno;
    let_go();
    return count;
}

/* --- the end --- */

static void close_context(size_t i)
{
    profiler_close(state.contexts[i].kernels);
    profiler_close(state.contexts[i].ranges);
    state.contexts[i] = state.contexts[--state.context_count];
}

void gpu_counters_end_context(cuda_context_handle context)
{
    if (!atomic_load_explicit(&state.is_on, memory_order_relaxed) ||
        !take_within(state.settings->counters.wait_ms))
        return;
    bool was_ours = thread_is_ours;
    thread_is_ours = true;
    for (size_t i = state.context_count; i > 0; i--)
        if (state.contexts[i - 1].handle == context)
            close_context(i - 1);
    thread_is_ours = was_ours;
    let_go();
}

void gpu_counters_stop(bool is_exit)
{
    if (!atomic_exchange(&state.is_on, false))
        return;
    atomic_store(&gpu_counters_have_ranges, false);
    if (is_exit || !take_within(state.settings->counters.wait_ms))
        return;
    while (state.context_count > 0)
        close_context(state.context_count - 1);
    let_go();
}
