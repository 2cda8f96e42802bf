#include "agent/capture/hardware/gpu_counters.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "base/process/host_call.h"
#include "base/trace_context.h"
#include "agent/abi/params.h"
#include "agent/capture/hardware/profiler.h"
#include "agent/capture/threads/thread_context.h"
#include "model/semconv.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CONTEXTS_MAX  16
#define WAIT_STEP_NS  (100 * 1000)
#define NAME_BYTES    1024 /* prefix of a kernel's mangled name that patterns are matched with */
#define SPIN_NS       NS_PER_MS
#define PAUSE_NS      50000
#define READ_AFTER_NS NS_PER_SECOND /* the latest time to read counts, for which spans wait */
#define EXIT_WAIT_MS  100

/* Parts of the names of kernels that wait for other GPUs or for each other: waiting for a single one could
 * deadlock. */
static const char *const talkative[] = {"nccl",       "nvshmem",   "cross_device",   "multimem",
                                        "all_reduce", "allreduce", "all_gather",     "allgather",
                                        "all_to_all", "alltoall",  "reduce_scatter", "deep_ep",
                                        "symm_mem",   "twoshot",   "oneshot"};

/* A counted launch whose values are not read yet. */
struct counted_launch {
    uint64_t time_ticks;
    uint32_t correlation_id;
    bool is_spoilt;
    struct thread_info thread; /* without its name */
};

struct counted_context {
    cuda_context_handle handle;
    struct profiler *profiler;
    size_t count;
    struct counted_launch launches[PROFILER_RANGES_MAX];
};

/* A launch's values in the list for the pipeline thread. */
struct read_counts {
    struct read_counts *next;
    struct thread_info thread;
    struct gpu_counters_record record; /* followed by its values */
};

static struct {
    const struct settings *settings;
    const struct cupti *cupti;
    _Atomic bool is_on;
    _Atomic uint32_t entered, next_turn; /* launches started; index of the next one to count */
    _Atomic bool is_taken;   /* set while something is counted; its setter owns the members below */
    _Atomic uint64_t due_ns; /* latest time to read pending counts; 0: none pending */
    struct counted_context contexts[CONTEXTS_MAX];
    size_t context_count;
    struct counted_context *counting;
    cuda_stream_handle stream; /* the counted launch's stream */
    uint32_t entered_before;   /* launches started when counting of this one started */
    bool is_spoilt;
#define DRIVER_MEMBER(name, params) name##_fn *name;
    PROFILER_DRIVER_CALLS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
} state;

static struct {
    pthread_mutex_t lock;
    struct read_counts *first, **end;
} ready = {PTHREAD_MUTEX_INITIALIZER, NULL, &ready.first};

_Atomic bool gpu_counters_have_ranges;
static _Atomic uint64_t counted_range; /* ID of the counted range; 0: none */
static struct attr_key keys[GPU_COUNTERS_MAX];

static enum status find_driver_calls(struct error *err)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    bool is_complete = true;
#define FIND(name, params)                                                                                   \
    state.name = (name##_fn *)dlsym(state.cupti->handle, #name); /* the replay's function */                 \
    if (!state.name && driver)                                                                               \
        state.name = (name##_fn *)dlsym(driver, #name);                                                      \
    is_complete &= state.name != NULL;
    PROFILER_DRIVER_CALLS(FIND)
#undef FIND
    return is_complete ? STATUS_OK
                       : error_set(err, STATUS_UNSUPPORTED, "the driver lacks required functions");
}

static enum status find_calls(const struct settings *settings, const struct cupti *cupti, struct error *err)
{
    char version[16];
    cupti_version_text(cupti->version, version);
    if (settings->counters.replay == REPLAY_KERNEL && cupti->version < CUPTI_VERSION_13_2)
        return error_set(
            err, STATUS_UNSUPPORTED,
            "with CUPTI %s, kernels that run again have no counts or no times; name one of 13.2 or "
            "later in distribution.cuspan.cupti.library, or set counters.replay to loop or none",
            version);
    enum status status = profiler_host_load(cupti, err);
    return status == STATUS_OK ? find_driver_calls(err) : status;
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
    if (find_calls(settings, cupti, &err) != STATUS_OK) {
        log_warn("no hardware counters: %s", err.text);
        return;
    }
    for (size_t i = 0; i < settings->counters.metrics.count && i < GPU_COUNTERS_MAX; i++)
        (void)gpu_counter_key(settings->counters.metrics.patterns[i], &keys[i]);
    atomic_store(&state.next_turn, atomic_load(&state.entered) + 1);
    atomic_store(&gpu_counters_have_ranges, settings->counters.ranges.count > 0);
    atomic_store(&state.is_on, true);
}

/* Stops counting permanently, because the same failure would repeat at each launch. */
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

/* Whether the launch is sampled. An unsampled one has no span to attach counts to. */
static bool is_sampled(void)
{
    static const struct trace_id_pair none;
    const struct thread_context *context = thread_context_self;
    bool has_context = context && context->version && memcmp(&context->ids, &none, sizeof none) != 0;
    return !has_context || !state.settings->sampler_parent_based || context->flags & TRACE_FLAG_SAMPLED;
}

/* Whether a kernel with this name may be counted. The name is mangled, but contains the function's name
 * verbatim. */
static bool may_count_kernel(const char *name)
{
    const struct filter *kernels = &state.settings->counters.kernels;
    for (size_t i = 0; i < sizeof talkative / sizeof *talkative; i++)
        if (strcasestr(name, talkative[i]))
            return false;
    return (kernels->allow.count == 0 || contains_one_of(name, &kernels->allow)) &&
           !contains_one_of(name, &kernels->deny);
}

/* Whether this launch is due: every Nth one, over all threads. */
static bool is_turn(void)
{
    uint32_t number = atomic_fetch_add_explicit(&state.entered, 1, memory_order_relaxed) + 1;
    uint32_t due = atomic_load_explicit(&state.next_turn, memory_order_relaxed);
    return (int32_t)(number - due) >= 0 &&
           atomic_compare_exchange_strong_explicit(&state.next_turn, &due,
                                                   number + state.settings->counters.period,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Lets the next launch take this turn. */
static void pass_turn_on(void)
{
    atomic_store_explicit(&state.next_turn, atomic_load_explicit(&state.entered, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

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
        if (strcmp(key, SEMCONV_CUDA_ARG_STREAM) != 0 && strcmp(key, "cuda.arg.hStream") != 0)
            continue;
        const uint8_t *at = (const uint8_t *)data->functionParams + source->offset;
        if (source->how & PARAM_DEREF) {
            memcpy((void *)&at, (const void *)at, sizeof at);
            at = at ? at + source->member : NULL;
        }
        if (at)
            memcpy(&stream, at, sizeof stream);
    }
    if (stream == 0 && strstr(call_name(info), "_ptsz"))
        stream = CUDA_STREAM_PER_THREAD;
    return (cuda_stream_handle)stream;
}

/* Whether the launch runs now. False: its stream is being captured into a graph, and waiting would invalidate
 * the capture. */
static bool runs_now(cuda_stream_handle stream)
{
    uint32_t status = 1;
    return state.cuStreamIsCapturing(stream, &status) == CUDA_OK && status == 0;
}

/* Waits until the stream's work is done. False: timed out. */
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

/* REPLAY_KERNEL: CUPTI runs kernels again. REPLAY_LOOP: only ranges that the program repeats are counted. */
static bool has_replay(enum counters_replay replay)
{
    return state.settings->counters.replay == replay;
}

static struct counted_context *place_of(cuda_context_handle context)
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
    return &state.contexts[i];
}

/* Returns the context's entry, and creates its profiler at first use. NULL: not available. */
static struct counted_context *open_context(cuda_context_handle context)
{
    struct error err = {"too many contexts"};
    struct counted_context *place = context ? place_of(context) : NULL;
    enum profiler_scope scope = has_replay(REPLAY_KERNEL) ? PROFILER_REPLAYS
                                : has_replay(REPLAY_LOOP) ? PROFILER_LOOPS
                                                          : PROFILER_RUNS_ONCE;
    if (!place || (!place->profiler && profiler_open(context, &state.settings->counters.metrics, scope,
                                                     &place->profiler, &err) != STATUS_OK)) {
        give_up(err.text);
        return NULL;
    }
    return place;
}

static void hand_over(struct read_counts *counts)
{
    pthread_mutex_lock(&ready.lock);
    *ready.end = counts;
    ready.end = &counts->next;
    pthread_mutex_unlock(&ready.lock);
}

/* Passes a launch's values to the pipeline. The span waits for this record even if it has no values. */
static bool pass_on(const struct counted_launch *launch, const struct profiler_counts *counts, size_t count)
{
    struct read_counts *passed = calloc(1, sizeof *passed + count * sizeof(double));
    if (!passed)
        return false;
    passed->thread = launch->thread;
    passed->record = (struct gpu_counters_record){
        .head = {(uint32_t)(sizeof passed->record + count * sizeof(double)), RECORD_GPU_COUNTERS, 0, 0},
        .time_ns = launch->time_ticks,
        .correlation_id = launch->correlation_id,
        .count = (uint32_t)count,
        .range_ns = counts->range_ns};
    memcpy(passed->record.values, counts->values, count * sizeof(double));
    hand_over(passed);
    return true;
}

/* Whether any value is finite. A failed launch has none. */
static bool has_values(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            return true;
    return false;
}

struct reading {
    const struct counted_context *context;
    uint64_t passed, empty;
};

static void see_counts(void *context, size_t range, const struct profiler_counts *counts)
{
    struct reading *reading = context;
    const struct counted_launch *launch = &reading->context->launches[range];
    size_t metric_count = profiler_metric_count(reading->context->profiler);
    bool is_passed =
        range < reading->context->count && !launch->is_spoilt && pass_on(launch, counts, metric_count);
    bool is_full = has_values(counts->values, metric_count);
    reading->passed += is_passed && is_full;
    reading->empty += is_passed && !is_full;
}

/* Reads all pending counts. */
static void read_launches(struct counted_context *context, bool goes_on)
{
    struct reading reading = {.context = context};
    struct error err;
    bool is_read = profiler_read(context->profiler, goes_on, see_counts, &reading, &err) == STATUS_OK;
    counter_add(COUNTER_gpu_counts, reading.passed);
    counter_add(COUNTER_gpu_counts_lost, context->count - reading.passed - reading.empty);
    context->count = 0;
    if (!is_read)
        give_up(err.text);
}

/* Makes the CUDA context current. Any thread. False: the context or the driver is gone. */
static bool enter_context(const struct counted_context *context)
{
    return state.cuCtxPushCurrent_v2(context->handle) == CUDA_OK;
}

static void leave_context(void)
{
    cuda_context_handle left;
    (void)state.cuCtxPopCurrent_v2(&left);
}

static void read_in_context(struct counted_context *context, bool goes_on)
{
    if (context->count == 0)
        return;
    if (!enter_context(context)) {
        counter_add(COUNTER_gpu_counts_lost, context->count);
        context->count = 0;
        return;
    }
    read_launches(context, goes_on);
    leave_context();
}

void gpu_counters_service(uint64_t now_ns)
{
    uint64_t due_ns = atomic_load_explicit(&state.due_ns, memory_order_relaxed);
    if (!due_ns || now_ns < due_ns || !atomic_load_explicit(&state.is_on, memory_order_relaxed) || !take())
        return;
    for (size_t i = 0; i < state.context_count; i++)
        read_in_context(&state.contexts[i], true);
    atomic_store(&state.due_ns, 0);
    let_go();
}

void gpu_counters_take(gpu_counters_see_fn *see, void *context)
{
    pthread_mutex_lock(&ready.lock);
    struct read_counts *counts = ready.first;
    ready.first = NULL;
    ready.end = &ready.first;
    pthread_mutex_unlock(&ready.lock);
    while (counts) {
        struct read_counts *next = counts->next;
        counts->record.time_ns = clock_ticks_to_ns(counts->record.time_ns);
        if (see)
            see(context, &counts->thread, &counts->record);
        free(counts);
        counts = next;
    }
}

static enum status begin_counting(struct profiler *profiler, struct error *err)
{
    if (has_replay(REPLAY_KERNEL))
        return profiler_begin(profiler, err);
    return has_replay(REPLAY_LOOP) ? profiler_loop_begin(profiler, err) : profiler_push(profiler, err);
}

static bool begin(const struct host_thread *thread, cuda_context_handle handle)
{
    struct error err;
    state.counting = open_context(handle);
    if (!state.counting)
        return false;
    state.is_spoilt = threads_launch_besides(thread);
    state.entered_before = atomic_load(&state.entered);
    if (begin_counting(state.counting->profiler, &err) == STATUS_OK)
        return true;
    give_up(err.text);
    return false;
}

void gpu_counters_enter(struct host_thread *thread, enum call_domain domain, uint32_t cbid,
                        const struct cupti_callback_data *data)
{
    if (!atomic_load_explicit(&state.is_on, memory_order_relaxed))
        return;
    atomic_store_explicit(&thread->launch, data->correlationId, memory_order_relaxed);
    if (!is_turn())
        return;
    bool may_count =
        data->context && data->symbolName && is_sampled() && may_count_kernel(data->symbolName) && take();
    if (!may_count) {
        pass_turn_on();
        return;
    }
    struct host_call call = host_call_begin();
    thread_is_ours = true;
    state.stream = stream_of(domain, cbid, data);
    thread->is_counted = runs_now(state.stream) && begin(thread, data->context);
    thread_is_ours = false;
    if (!thread->is_counted) {
        pass_turn_on();
        let_go();
    }
    host_call_end(call);
}

/* Writes the launch's values to the ring. `values` NULL: announces that they follow. False: the ring is full.
 */
static bool write_counts(struct host_thread *thread, uint32_t correlation_id, const double *values,
                         size_t count)
{
    uint32_t bytes = (uint32_t)(sizeof(struct gpu_counters_record) + count * sizeof *values);
    struct gpu_counters_record *record = ring_reserve(&thread->ring, bytes);
    if (!record)
        return false;
    *record = (struct gpu_counters_record){.head = {bytes, RECORD_GPU_COUNTERS, 0, 0},
                                           .time_ns = clock_ticks(),
                                           .correlation_id = correlation_id,
                                           .count = (uint32_t)count};
    if (values)
        memcpy(record->values, values, count * sizeof *values);
    ring_commit(&thread->ring, bytes);
    return true;
}

/* Whether launches of other threads were counted, too, which cannot be distinguished. */
static bool is_spoilt(void)
{
    return state.is_spoilt || atomic_load(&state.entered) != state.entered_before;
}

static void finish_range(struct host_thread *thread, uint32_t correlation_id)
{
    struct counted_context *context = state.counting;
    struct error err;
    if (profiler_pop(context->profiler, &err) != STATUS_OK) {
        give_up(err.text);
        return;
    }
    if (atomic_load(&state.due_ns) == 0)
        atomic_store(&state.due_ns, clock_monotonic_ns() + READ_AFTER_NS);
    context->launches[context->count++] = (struct counted_launch){
        .time_ticks = clock_ticks(),
        .correlation_id = correlation_id,
        .is_spoilt = is_spoilt() || !write_counts(thread, correlation_id, NULL, 0),
        .thread = {.tid = thread->info.tid, .serial = thread->info.serial, .slot = thread->info.slot}};
    if (context->count == profiler_ranges_max(context->profiler))
        read_in_context(context, true);
}

/* Ends the counting of replayed kernels and writes their values. A failed launch has none. */
static void finish_replays(struct host_thread *thread, uint32_t correlation_id)
{
    double values[GPU_COUNTERS_MAX + 1];
    struct error err;
    size_t count = 0;
    struct profiler *profiler = state.counting->profiler;
    if (profiler_end(profiler, values, &count, &err) != STATUS_OK)
        give_up(err.text);
    else if (count == 1 && !is_spoilt() &&
             write_counts(thread, correlation_id, values, profiler_metric_count(profiler)))
        counter_add(COUNTER_gpu_counts, 1);
    else
        counter_add(COUNTER_gpu_counts_lost, count > 0);
}

static void finish_launch(struct host_thread *thread, uint32_t correlation_id)
{
    if (!wait_for_stream(state.stream)) {
        give_up("a counted kernel did not finish within distribution.cuspan.counters.wait_ms; if it waits "
                "for another kernel, add it to counters.kernels.deny");
        for (size_t i = 0; i < state.context_count; i++)
            counter_add(COUNTER_gpu_counts_lost, state.contexts[i].count);
        state.context_count = 0; /* the profiler is never touched again because CUPTI would block */
    } else if (has_replay(REPLAY_KERNEL)) {
        finish_replays(thread, correlation_id);
    } else {
        finish_range(thread, correlation_id);
    }
}

void gpu_counters_exit(struct host_thread *thread, const struct cupti_callback_data *data)
{
    uint32_t launch = atomic_load_explicit(&thread->launch, memory_order_relaxed);
    if (launch == 0 || launch != data->correlationId)
        return;
    if (thread->is_counted) {
        struct host_call call = host_call_begin();
        thread_is_ours = true;
        finish_launch(thread, launch);
        thread_is_ours = false;
        thread->is_counted = false;
        let_go();
        host_call_end(call);
    }
    atomic_store_explicit(&thread->launch, 0, memory_order_relaxed);
}

static bool is_range_named(const char *name, uint32_t name_bytes)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(name_bytes < sizeof text ? name_bytes : sizeof text - 1), name);
    return pattern_list_matches(&state.settings->counters.ranges, text);
}

void gpu_counters_enter_range(uint64_t id, const char *name, uint32_t name_bytes, bool is_loop)
{
    cuda_context_handle context = NULL;
    if ((has_replay(REPLAY_LOOP) && !is_loop) || !is_range_named(name, name_bytes) || !is_sampled() ||
        !is_turn() || !take())
        return;
    struct host_call call = host_call_begin();
    thread_is_ours = true;
    bool is_counted = state.cuCtxGetCurrent(&context) == CUDA_OK && context &&
                      state.cuCtxSynchronize() == CUDA_OK && begin(NULL, context);
    thread_is_ours = false;
    if (is_counted)
        atomic_store(&counted_range, id);
    else
        let_go();
    host_call_end(call);
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

bool gpu_counters_again(uint64_t id)
{
    struct error err;
    bool again = false;
    if (id == 0 || atomic_load(&counted_range) != id || !has_replay(REPLAY_LOOP))
        return false;
    struct host_call call = host_call_begin();
    thread_is_ours = true;
    bool is_well = state.cuCtxSynchronize() == CUDA_OK;
    if (is_well && profiler_loop_again(state.counting->profiler, &again, &err) != STATUS_OK) {
        give_up(err.text);
        again = is_well = false;
    }
    if (!is_well) {
        atomic_store(&counted_range, 0);
        let_go();
    }
    thread_is_ours = false;
    host_call_end(call);
    return again;
}

static void keep_counts(void *context, size_t range, const struct profiler_counts *counts)
{
    if (range == 0)
        *(struct profiler_counts *)context = *counts;
}

/* Reads the counts of a loop. False: there are none, because the program left the loop before the last pass.
 */
static bool read_loop(struct profiler_counts *counts)
{
    struct error err;
    enum status status = profiler_loop_end(state.counting->profiler, counts->values, &err);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        give_up(err.text);
    return status == STATUS_OK;
}

static bool read_range(struct profiler_counts *counts)
{
    struct error err;
    struct profiler *profiler = state.counting->profiler;
    if (state.cuCtxSynchronize() != CUDA_OK)
        return false;
    if (has_replay(REPLAY_LOOP))
        return read_loop(counts);
    if (profiler_pop(profiler, &err) == STATUS_OK &&
        profiler_read(profiler, true, keep_counts, counts, &err) == STATUS_OK)
        return true;
    give_up(err.text);
    return false;
}

uint32_t gpu_counters_exit_range(uint64_t id, struct range_attr *attrs)
{
    struct profiler_counts counts;
    uint64_t expected = id;
    uint32_t count = 0;
    if (id == 0 || !atomic_compare_exchange_strong(&counted_range, &expected, 0))
        return 0;
    struct host_call call = host_call_begin();
    thread_is_ours = true;
    bool is_read = read_range(&counts);
    if (is_read)
        count = name_values(counts.values, attrs);
    counter_add(is_read ? COUNTER_gpu_counts : COUNTER_gpu_counts_lost, 1);
    thread_is_ours = false;
    let_go();
    host_call_end(call);
    return count;
}

/* Reads a context's pending counts and closes it. With `is_exit`, CUPTI's objects are left to the process
 * exit. */
static void close_context(size_t i, bool is_exit)
{
    struct counted_context *context = &state.contexts[i];
    read_in_context(context, false);
    if (!is_exit && enter_context(context)) {
        profiler_close(context->profiler);
        leave_context();
    }
    *context = state.contexts[--state.context_count];
}

static void close_contexts(cuda_context_handle handle, bool is_exit)
{
    bool was_ours = thread_is_ours;
    thread_is_ours = true;
    for (size_t i = state.context_count; i > 0; i--)
        if (!handle || state.contexts[i - 1].handle == handle)
            close_context(i - 1, is_exit);
    thread_is_ours = was_ours;
}

void gpu_counters_end_context(cuda_context_handle context)
{
    if (!atomic_load_explicit(&state.is_on, memory_order_relaxed) ||
        !take_within(state.settings->counters.wait_ms))
        return;
    close_contexts(context, false);
    let_go();
}

void gpu_counters_stop(bool is_exit)
{
    if (!atomic_exchange(&state.is_on, false))
        return;
    atomic_store(&gpu_counters_have_ranges, false);
    if (!take_within(is_exit ? EXIT_WAIT_MS : state.settings->counters.wait_ms))
        return;
    close_contexts(NULL, is_exit);
    let_go();
}
