#include "capture/profiler.h"

#include "base/log.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAYS_MAX     8 /* kernels that other threads launch meanwhile are seen, and spoil the count */
#define NAMES_MAX       (GPU_COUNTERS_MAX + 1)
#define IMAGE_BYTES_MAX (8 * 1024 * 1024)
#define RANGE_TIME      "gpu__time_duration.sum"

static struct {
    const struct cupti *cupti;
    bool is_initialized;
#define PROFILER_MEMBER(name, params, last) name##_fn *name;
    PROFILER_CALLS(PROFILER_MEMBER)
#undef PROFILER_MEMBER
} calls;

struct image {
    uint8_t *bytes;
    size_t size;
};

struct profiler {
    enum profiler_scope scope;
    char chip[PROFILER_CHIP_BYTES];
    profiler_host_handle host;
    profiler_range_handle ranges;
    size_t metric_count, name_count;
    const char
        *names[NAMES_MAX]; /* the metrics' own; of the settings, or static; then RANGE_TIME if wanted */
    size_t ranges_max;
    size_t ranges_marked; /* since the last reading */
    bool is_looping;      /* a loop's pass is being counted */
    struct image availability, config, data;
};

/* One call of CUPTI's: its parameters begin with their size. */
#define PARAMS(name, type, last, ...)                                                                        \
    struct type name = {.structSize = PROFILER_SIZE(struct type, last), __VA_ARGS__}

/* CUPTI opens it by its name alone, and finds what the process has. It lies beside CUPTI, or, of the CUPTIs
 * that ship with cuspan, in a folder for each. Never closed. */
static void load_helper(const struct cupti *cupti, const char *name)
{
    char path[640];
    const char *slash = strrchr(cupti->path, '/');
    int length = slash ? (int)(slash - cupti->path) : 0;
    uint32_t major = cupti->version >= CUPTI_VERSION_13_0 ? cupti->version / 10000 : 12;
    snprintf(path, sizeof path, "%.*s/nvperf-%u/%s", length, cupti->path, major, name);
    if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
        return;
    snprintf(path, sizeof path, "%.*s/%s", length, cupti->path, name);
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        log_debug("%s", dlerror());
}

enum status profiler_load(const struct cupti *cupti, struct error *err)
{
    if (calls.cupti)
        return STATUS_OK;
    bool is_complete = true;
#define RESOLVE(call, params, last)                                                                          \
    calls.call = (call##_fn *)dlsym(cupti->handle, #call);                                                   \
    is_complete &= calls.call != NULL;
    PROFILER_CALLS(RESOLVE)
#undef RESOLVE
    if (!is_complete)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s has no Range Profiler, which came with CUDA 12.6; name a newer one by "
                         "distribution.cuspan.cupti.library",
                         cupti->path);
    load_helper(cupti, "libnvperf_host.so");
    load_helper(cupti, "libnvperf_target.so");
    calls.cupti = cupti;
    return STATUS_OK;
}

/* --- what went wrong, and what to do --- */

static enum status say(uint32_t result, const char *doing, struct error *err)
{
    switch (result) {
    case CUPTI_OK:
        return STATUS_OK;
    case CUPTI_OUT_OF_MEMORY:
        return error_set(err, STATUS_NO_MEMORY, "no memory to %s", doing);
    case CUPTI_INSUFFICIENT_PRIVILEGES:
    case CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return error_set(err, STATUS_UNAVAILABLE,
                         "the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM): load it "
                         "with the module option NVreg_RestrictProfilingToAdminUsers=0, or give the process "
                         "CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN)");
    case CUPTI_HARDWARE_BUSY:
        return error_set(
            err, STATUS_UNAVAILABLE,
            "another tool has the GPU's hardware counters, which have one owner (DCGM's profiling "
            "metrics, say: dcgmi profile --pause)");
    case CUPTI_MIG_DEVICE_NOT_SUPPORTED:
        return error_set(err, STATUS_UNAVAILABLE, "hardware counters can't be had of this MIG device");
    case CUPTI_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return error_set(err, STATUS_UNAVAILABLE,
                         "the GPU is in confidential computing, in which it has no hardware counters");
    case CUPTI_NOT_INITIALIZED:
        return error_set(
            err, STATUS_NOT_FOUND,
            "CUPTI can't load libnvperf_host.so and libnvperf_target.so, which count: they belong "
            "beside %s (of NVIDIA's package nvidia-cuda-cupti)",
            calls.cupti->path);
    default:
        return error_set(err, STATUS_UNAVAILABLE, "can't %s: %s", doing,
                         cupti_result_text(calls.cupti, result));
    }
}

/* --- the chip --- */

static enum status initialize(struct error *err)
{
    if (calls.is_initialized)
        return STATUS_OK;
    PARAMS(params, profiler_initialize, pPriv, );
    enum status status = say(calls.cuptiProfilerInitialize(&params), "begin with hardware counters", err);
    calls.is_initialized = status == STATUS_OK;
    return status;
}

static enum status check_device(uint32_t device, struct error *err)
{
    PARAMS(params, profiler_device_supported, api, .cuDevice = (int)device);
    enum status status =
        say(calls.cuptiProfilerDeviceSupported(&params), "ask whether the GPU has hardware counters", err);
    if (status != STATUS_OK || params.isSupported == PROFILER_SUPPORTED ||
        params.isSupported == PROFILER_LIMITED)
        return status;
    const struct {
        uint32_t support;
        const char *what;
    } reasons[] = {{params.architecture, "it is older than Volta"},
                   {params.sli, "it is in SLI"},
                   {params.vGpu, "it is a virtual GPU, whose host must allow them"},
                   {params.confidentialCompute, "it is in confidential computing"},
                   {params.cmp, "it is a mining processor"},
                   {params.wsl, "WSL hasn't got them"}};
    const char *why = "CUPTI doesn't say why";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].support == PROFILER_UNSUPPORTED || reasons[i].support == PROFILER_DISABLED)
            why = reasons[i].what;
    return error_set(err, STATUS_UNAVAILABLE, "no hardware counters of GPU %u: %s", device, why);
}

static enum status learn_chip(struct profiler *profiler, uint32_t device, struct error *err)
{
    PARAMS(params, profiler_chip_name, pChipName, .deviceIndex = device);
    enum status status = say(calls.cuptiDeviceGetChipName(&params), "learn the chip's name", err);
    if (status == STATUS_OK)
        snprintf(profiler->chip, sizeof profiler->chip, "%s", params.pChipName);
    return status;
}

static enum status allocate(struct image *image, size_t size, const char *what, struct error *err)
{
    if (size > IMAGE_BYTES_MAX)
        return error_set(err, STATUS_NO_MEMORY, "%s takes %zu MiB; name fewer metrics", what,
                         size / 1024 / 1024);
    image->bytes = calloc(1, size ? size : 1);
    image->size = size;
    return image->bytes ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "no memory for %s", what);
}

/* Which counters can be had now, on this GPU. */
static enum status learn_availability(struct profiler *profiler, cuda_context_handle context,
                                      struct error *err)
{
    PARAMS(params, profiler_availability, pCounterAvailabilityImage, .ctx = context,
           .bAllowDeviceLevelCounters = 1);
    if (calls.cupti->version >= CUPTI_VERSION_13_1)
        params.structSize = PROFILER_SIZE(struct profiler_availability, bAllowDeviceLevelCounters);
    enum status status =
        say(calls.cuptiProfilerGetCounterAvailability(&params), "learn which counters can be had", err);
    if (status == STATUS_OK)
        status = allocate(&profiler->availability, params.counterAvailabilityImageSize,
                          "the list of counters", err);
    if (status != STATUS_OK)
        return status;
    params.pCounterAvailabilityImage = profiler->availability.bytes;
    return say(calls.cuptiProfilerGetCounterAvailability(&params), "learn which counters can be had", err);
}

/* The chip's metrics, and the plan of which are counted. */
static enum status open_metrics(const struct profiler *profiler, profiler_host_handle *host,
                                struct error *err)
{
    PARAMS(params, profiler_host_initialize, pHostObject, .profilerType = PROFILER_RANGES,
           .pChipName = profiler->chip, .pCounterAvailabilityImage = profiler->availability.bytes);
    enum status status = say(calls.cuptiProfilerHostInitialize(&params), "learn the chip's metrics", err);
    *host = status == STATUS_OK ? params.pHostObject : NULL;
    return status;
}

static void close_metrics(profiler_host_handle host)
{
    PARAMS(params, profiler_host_deinitialize, pHostObject, .pHostObject = host);
    if (host)
        calls.cuptiProfilerHostDeinitialize(&params);
}

static enum status open_host(struct profiler *profiler, cuda_context_handle context, struct error *err)
{
    uint32_t device = 0;
    enum status status = initialize(err);
    if (status == STATUS_OK)
        status = say(calls.cupti->cuptiGetDeviceId(context, &device), "learn the context's GPU", err);
    if (status == STATUS_OK)
        status = check_device(device, err);
    if (status == STATUS_OK)
        status = learn_chip(profiler, device, err);
    if (status == STATUS_OK)
        status = learn_availability(profiler, context, err);
    return status == STATUS_OK ? open_metrics(profiler, &profiler->host, err) : status;
}

/* --- metrics --- */

/* Added at once they share passes; CUPTI gives those of each call passes of their own. */
static uint32_t add_metrics(profiler_host_handle host, const char **names, size_t count)
{
    PARAMS(params, profiler_add_metrics, numMetrics, .pHostObject = host, .ppMetricNames = names,
           .numMetrics = count);
    return count ? calls.cuptiProfilerHostConfigAddMetrics(&params) : CUPTI_OK;
}

/* Of a plain name, the first that the chip has. `scratch`: it is added there, to see. */
static enum status find_metric(struct profiler *profiler, profiler_host_handle scratch, const char *setting,
                               struct error *err)
{
    const char *name = gpu_counter_metric(setting);
    const struct gpu_counter_name *plain = gpu_counter_find(name);
    const char *const own[] = {name, NULL};
    const char *const *candidates = plain ? plain->metrics : own;
    uint32_t result = CUPTI_INVALID_METRIC_NAME;
    for (; *candidates && result != CUPTI_OK; candidates++) {
        const char *metric = *candidates;
        result = add_metrics(scratch, &metric, 1);
        if (result == CUPTI_OK)
            profiler->names[profiler->metric_count++] = metric;
    }
    if (result == CUPTI_INVALID_METRIC_NAME || result == CUPTI_INVALID_PARAMETER)
        return error_set(err, STATUS_INVALID,
                         "%s has no metric \"%s\"; `cuspan counters` lists those that it has", profiler->chip,
                         name);
    return say(result, "count what is asked for", err);
}

static enum status find_metrics(struct profiler *profiler, const struct pattern_list *metrics,
                                struct error *err)
{
    profiler_host_handle scratch = NULL;
    enum status status = open_metrics(profiler, &scratch, err);
    for (size_t i = 0; i < metrics->count && status == STATUS_OK; i++)
        status = find_metric(profiler, scratch, metrics->patterns[i], err);
    close_metrics(scratch);
    profiler->name_count = profiler->metric_count;
    return status;
}

/* They are counted by code that CUPTI puts into the kernel, and count nothing in a run of which CUPTI takes
 * the times: of several runs that is the last (seen with 13.5 on an H200). */
static bool is_patched(const char *metric)
{
    return strstr(metric, "__sass_") != NULL;
}

static size_t split(const struct profiler *profiler, bool are_patched, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < profiler->name_count; i++)
        if (is_patched(profiler->names[i]) == are_patched)
            names[count++] = profiler->names[i];
    return count;
}

/* A range takes longer than its kernel. */
static void time_ranges(struct profiler *profiler)
{
    bool has_rates = false;
    for (size_t i = 0; i < profiler->metric_count; i++)
        has_rates |= gpu_counter_is_rate(profiler->names[i]);
    if (has_rates)
        profiler->names[profiler->name_count++] = RANGE_TIME;
}

static enum status choose(struct profiler *profiler, struct error *err)
{
    const char *patched[NAMES_MAX], *others[NAMES_MAX];
    size_t patched_count = split(profiler, true, patched), others_count = split(profiler, false, others);
    if (patched_count && profiler->scope != PROFILER_REPLAYS)
        return error_set(
            err, STATUS_INVALID,
            "%s is counted by code that CUPTI adds to kernels, and not while it takes their times: it "
            "needs counters.replay: kernel; without it, count the pipes (cuspan counters '*_pipe_*')",
            patched[0]);
    if (patched_count && others_count == 0)
        others[others_count++] = RANGE_TIME; /* the last run's */
    uint32_t result = add_metrics(profiler->host, patched, patched_count);
    if (result == CUPTI_OK)
        result = add_metrics(profiler->host, others, others_count);
    return say(result, "count what is asked for", err);
}

static enum status configure(struct profiler *profiler, size_t *passes, struct error *err)
{
    PARAMS(size, profiler_config_size, configImageSize, .pHostObject = profiler->host);
    enum status status = say(calls.cuptiProfilerHostGetConfigImageSize(&size), "plan what is counted", err);
    if (status == STATUS_OK)
        status = allocate(&profiler->config, size.configImageSize, "the plan of what is counted", err);
    if (status != STATUS_OK)
        return status;
    PARAMS(image, profiler_config_image, pConfigImage, .pHostObject = profiler->host,
           .configImageSize = profiler->config.size, .pConfigImage = profiler->config.bytes);
    status = say(calls.cuptiProfilerHostGetConfigImage(&image), "plan what is counted", err);
    if (status != STATUS_OK)
        return status;
    PARAMS(count, profiler_passes, numOfPasses, .configImageSize = profiler->config.size,
           .pConfigImage = profiler->config.bytes);
    status = say(calls.cuptiProfilerHostGetNumOfPasses(&count), "plan what is counted", err);
    *passes = count.numOfPasses;
    return status;
}

static enum status plan(struct profiler *profiler, const struct pattern_list *metrics, size_t *passes,
                        struct error *err)
{
    if (metrics->count == 0 || metrics->count > GPU_COUNTERS_MAX)
        return error_set(err, STATUS_INVALID, "1 to %d metrics can be counted at a time, not %zu",
                         GPU_COUNTERS_MAX, metrics->count);
    enum status status = find_metrics(profiler, metrics, err);
    if (profiler->scope == PROFILER_RUNS_ONCE)
        time_ranges(profiler);
    if (status == STATUS_OK)
        status = choose(profiler, err);
    return status == STATUS_OK ? configure(profiler, passes, err) : status;
}

static enum status choose_metrics(struct profiler *profiler, const struct pattern_list *metrics,
                                  struct error *err)
{
    size_t passes = 0;
    enum status status = plan(profiler, metrics, &passes, err);
    if (status == STATUS_OK && passes > 1 && profiler->scope == PROFILER_RUNS_ONCE)
        return error_set(err, STATUS_INVALID,
                         "%s can count these %zu metrics in %zu passes, and a kernel runs once; name fewer "
                         "(distribution.cuspan.counters.metrics), or allow it to be run again for kernels "
                         "that you name (counters.replay: kernel)",
                         profiler->chip, metrics->count, passes);
    return status;
}

/* --- counting --- */

size_t profiler_ranges_max(const struct profiler *profiler)
{
    return profiler->ranges_max;
}

static enum status size_data(struct profiler *profiler, size_t *bytes, struct error *err)
{
    PARAMS(params, profiler_data_size, counterDataSize, .pRangeProfilerObject = profiler->ranges,
           .pMetricNames = profiler->names, .numMetrics = profiler->name_count,
           .maxNumOfRanges = profiler->ranges_max, .maxNumRangeTreeNodes = (uint32_t)profiler->ranges_max);
    enum status status =
        say(calls.cuptiRangeProfilerGetCounterDataSize(&params), "make room for counters", err);
    *bytes = params.counterDataSize;
    return status;
}

/* As many ranges as have room. */
static enum status make_data(struct profiler *profiler, struct error *err)
{
    static const size_t most[] = {
        [PROFILER_RUNS_ONCE] = PROFILER_RANGES_MAX, [PROFILER_REPLAYS] = REPLAYS_MAX, [PROFILER_LOOPS] = 1};
    size_t bytes = 0;
    profiler->ranges_max = most[profiler->scope];
    enum status status = size_data(profiler, &bytes, err);
    while (status == STATUS_OK && bytes > IMAGE_BYTES_MAX && profiler->ranges_max > 1) {
        profiler->ranges_max /= 2;
        status = size_data(profiler, &bytes, err);
    }
    return status == STATUS_OK ? allocate(&profiler->data, bytes, "the counters' values", err) : status;
}

static enum status clear_data(struct profiler *profiler, struct error *err)
{
    PARAMS(params, profiler_data_initialize, pCounterData, .pRangeProfilerObject = profiler->ranges,
           .counterDataSize = profiler->data.size, .pCounterData = profiler->data.bytes);
    profiler->ranges_marked = 0;
    return say(calls.cuptiRangeProfilerCounterDataImageInitialize(&params), "clear the counters", err);
}

static enum status set_config(struct profiler *profiler, struct error *err)
{
    bool replays = profiler->scope == PROFILER_REPLAYS;
    PARAMS(params, profiler_set_config, targetNestingLevel, .pRangeProfilerObject = profiler->ranges,
           .configSize = profiler->config.size, .pConfig = profiler->config.bytes,
           .counterDataImageSize = profiler->data.size, .pCounterDataImage = profiler->data.bytes,
           .range = replays ? PROFILER_AUTO_RANGE : PROFILER_USER_RANGE,
           .replayMode = replays ? PROFILER_KERNEL_REPLAY : PROFILER_USER_REPLAY,
           .maxRangesPerPass = profiler->ranges_max, .numNestingLevels = 1, .minNestingLevel = 1);
    return say(calls.cuptiRangeProfilerSetConfig(&params), "set up the counters", err);
}

static enum status start(struct profiler *profiler, struct error *err)
{
    PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    enum status status = clear_data(profiler, err);
    if (status == STATUS_OK)
        status = set_config(profiler, err);
    return status == STATUS_OK ? say(calls.cuptiRangeProfilerStart(&params), "start the counters", err)
                               : status;
}

static enum status open_ranges(struct profiler *profiler, cuda_context_handle context, struct error *err)
{
    PARAMS(params, profiler_enable, pRangeProfilerObject, .ctx = context);
    enum status status = say(calls.cuptiRangeProfilerEnable(&params), "switch counters on", err);
    if (status != STATUS_OK)
        return status;
    profiler->ranges = params.pRangeProfilerObject;
    status = make_data(profiler, err);
    return status == STATUS_OK && profiler->scope == PROFILER_RUNS_ONCE ? start(profiler, err) : status;
}

enum status profiler_open(cuda_context_handle context, const struct pattern_list *metrics,
                          enum profiler_scope scope, struct profiler **opened, struct error *err)
{
    struct profiler *profiler = calloc(1, sizeof *profiler);
    if (!profiler)
        return error_set(err, STATUS_NO_MEMORY, "no memory for hardware counters");
    profiler->scope = scope;
    enum status status = open_host(profiler, context, err);
    if (status == STATUS_OK)
        status = choose_metrics(profiler, metrics, err);
    if (status == STATUS_OK)
        status = open_ranges(profiler, context, err);
    if (status == STATUS_OK)
        *opened = profiler;
    else
        profiler_close(profiler);
    return status;
}

static void close_host(struct profiler *profiler)
{
    close_metrics(profiler->host);
    free(profiler->availability.bytes);
    free(profiler->config.bytes);
    free(profiler->data.bytes);
}

void profiler_close(struct profiler *profiler)
{
    if (!profiler)
        return;
    if (profiler->ranges) {
        PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
        calls.cuptiRangeProfilerDisable(&params);
    }
    close_host(profiler);
    free(profiler);
}

size_t profiler_metric_count(const struct profiler *profiler)
{
    return profiler->metric_count;
}

/* Ranges of one name might be taken for one. */
enum status profiler_push(struct profiler *profiler, struct error *err)
{
    char name[16];
    PARAMS(params, profiler_push_range, pRangeName, .pRangeProfilerObject = profiler->ranges,
           .pRangeName = name);
    snprintf(name, sizeof name, "%zu", profiler->ranges_marked);
    return say(calls.cuptiRangeProfilerPushRange(&params), "begin to count", err);
}

enum status profiler_pop(struct profiler *profiler, struct error *err)
{
    PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    profiler->ranges_marked++;
    return say(calls.cuptiRangeProfilerPopRange(&params), "end the counting", err);
}

static enum status stop(struct profiler *profiler, bool *has_all, struct error *err)
{
    PARAMS(params, profiler_stop, isAllPassSubmitted, .pRangeProfilerObject = profiler->ranges);
    enum status status = say(calls.cuptiRangeProfilerStop(&params), "stop the counters", err);
    *has_all = params.isAllPassSubmitted;
    return status;
}

/* Says how many ranges there are. */
static enum status decode(struct profiler *profiler, size_t *ranges, size_t *dropped, struct error *err)
{
    PARAMS(decode, profiler_decode, numOfRangeDropped, .pRangeProfilerObject = profiler->ranges);
    PARAMS(info, profiler_data_info, numTotalRanges, .pCounterDataImage = profiler->data.bytes,
           .counterDataImageSize = profiler->data.size);
    enum status status = say(calls.cuptiRangeProfilerDecodeData(&decode), "read the counters", err);
    if (status == STATUS_OK)
        status = say(calls.cuptiRangeProfilerGetCounterDataInfo(&info), "read the counters", err);
    *ranges = info.numTotalRanges;
    *dropped = decode.numOfRangeDropped;
    return status;
}

static enum status stop_and_decode(struct profiler *profiler, size_t *ranges, size_t *dropped,
                                   struct error *err)
{
    bool has_all;
    enum status status = stop(profiler, &has_all, err);
    return status == STATUS_OK ? decode(profiler, ranges, dropped, err) : status;
}

static enum status evaluate(struct profiler *profiler, size_t range, double *values, struct error *err)
{
    PARAMS(params, profiler_evaluate, pMetricValues, .pHostObject = profiler->host,
           .pCounterDataImage = profiler->data.bytes, .counterDataImageSize = profiler->data.size,
           .rangeIndex = range, .ppMetricNames = profiler->names, .numMetrics = profiler->name_count,
           .pMetricValues = values);
    return say(calls.cuptiProfilerHostEvaluateToGpuValues(&params), "make values of what was counted", err);
}

enum status profiler_read(struct profiler *profiler, bool goes_on, profiler_counts_fn *see, void *seer,
                          struct error *err)
{
    size_t ranges = 0, dropped = 0;
    enum status status = stop_and_decode(profiler, &ranges, &dropped, err);
    if (status == STATUS_OK && (ranges != profiler->ranges_marked || dropped))
        return error_set(err, STATUS_UNAVAILABLE, "CUPTI counted %zu of %zu ranges", ranges,
                         profiler->ranges_marked);
    for (size_t i = 0; i < ranges && status == STATUS_OK; i++) {
        double values[NAMES_MAX] = {0};
        struct profiler_counts counts;
        status = evaluate(profiler, i, values, err);
        memcpy(counts.values, values, sizeof counts.values);
        counts.range_ns = profiler->name_count > profiler->metric_count ? values[profiler->metric_count] : 0;
        if (status == STATUS_OK)
            see(seer, i, &counts);
    }
    return status == STATUS_OK && goes_on ? start(profiler, err) : status;
}

enum status profiler_begin(struct profiler *profiler, struct error *err)
{
    return start(profiler, err);
}

enum status profiler_end(struct profiler *profiler, double *values, size_t *count, struct error *err)
{
    size_t ranges = 0, dropped = 0;
    enum status status = stop_and_decode(profiler, &ranges, &dropped, err);
    *count = ranges + dropped;
    return status == STATUS_OK && ranges > 0 ? evaluate(profiler, 0, values, err) : status;
}

/* CUPTI goes on with the next pass by itself, as long as its data aren't cleared. */
static enum status begin_pass(struct profiler *profiler, struct error *err)
{
    PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    enum status status = say(calls.cuptiRangeProfilerStart(&params), "start the counters", err);
    if (status == STATUS_OK)
        status = profiler_push(profiler, err);
    profiler->is_looping = status == STATUS_OK;
    return status;
}

enum status profiler_loop_begin(struct profiler *profiler, struct error *err)
{
    enum status status = clear_data(profiler, err);
    if (status == STATUS_OK)
        status = set_config(profiler, err);
    return status == STATUS_OK ? begin_pass(profiler, err) : status;
}

static enum status end_pass(struct profiler *profiler, bool *has_all, struct error *err)
{
    PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    profiler->is_looping = false;
    enum status status = say(calls.cuptiRangeProfilerPopRange(&params), "end the counting", err);
    return status == STATUS_OK ? stop(profiler, has_all, err) : status;
}

enum status profiler_loop_again(struct profiler *profiler, bool *again, struct error *err)
{
    bool has_all = false;
    enum status status = end_pass(profiler, &has_all, err);
    *again = status == STATUS_OK && !has_all;
    return *again ? begin_pass(profiler, err) : status;
}

enum status profiler_loop_end(struct profiler *profiler, double *values, struct error *err)
{
    bool has_all;
    size_t ranges = 0, dropped = 0;
    if (profiler->is_looping) {
        enum status left = end_pass(profiler, &has_all, err);
        return left == STATUS_OK ? error_set(err, STATUS_NOT_FOUND, "the loop was left early") : left;
    }
    enum status status = decode(profiler, &ranges, &dropped, err);
    if (status == STATUS_OK && (ranges != 1 || dropped))
        return error_set(err, STATUS_UNAVAILABLE, "CUPTI counted %zu ranges of a loop", ranges);
    return status == STATUS_OK ? evaluate(profiler, 0, values, err) : status;
}

/* --- what a chip has --- */

static void join_rollups(const struct profiler *profiler, struct profiler_metric *metric, uint32_t type,
                         char *text, size_t size)
{
    PARAMS(params, profiler_sub_metrics, ppSubMetrics, .pHostObject = profiler->host, .metricType = type,
           .pMetricName = metric->name);
    text[0] = '\0';
    metric->rollups = text;
    if (calls.cuptiProfilerHostGetSubMetrics(&params) != CUPTI_OK)
        return;
    for (size_t i = 0, length = 0; i < params.numOfSubmetrics && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", i ? " " : "", params.ppSubMetrics[i]);
}

static void see_metric(const struct profiler *profiler, const char *name, uint32_t type, profiler_see_fn *see,
                       void *seer)
{
    char rollups[2048];
    PARAMS(params, profiler_metric_properties, metricType, .pHostObject = profiler->host,
           .pMetricName = name);
    struct profiler_metric metric = {.name = name, .description = "", .hardware = "", .unit = ""};
    if (calls.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_OK) {
        metric.description = params.pDescription ? params.pDescription : "";
        metric.hardware = params.pHwUnit ? params.pHwUnit : "";
        metric.unit = params.pDimUnit ? params.pDimUnit : "";
    }
    join_rollups(profiler, &metric, type, rollups, sizeof rollups);
    see(seer, &metric);
}

enum status profiler_learn_chip(cuda_context_handle context, char *chip, struct error *err)
{
    struct profiler profiler = {0};
    enum status status = open_host(&profiler, context, err);
    snprintf(chip, PROFILER_CHIP_BYTES, "%s", profiler.chip);
    close_host(&profiler);
    return status;
}

enum status profiler_plan(cuda_context_handle context, const struct pattern_list *metrics, size_t *passes,
                          struct error *err)
{
    struct profiler profiler = {0};
    enum status status = open_host(&profiler, context, err);
    if (status == STATUS_OK)
        status = plan(&profiler, metrics, passes, err);
    close_host(&profiler);
    return status;
}

enum status profiler_list(cuda_context_handle context, profiler_see_fn *see, void *seer, struct error *err)
{
    struct profiler profiler = {0};
    enum status status = open_host(&profiler, context, err);
    for (uint32_t type = 0; type < PROFILER_METRIC_TYPES && status == STATUS_OK; type++) {
        PARAMS(params, profiler_base_metrics, numMetrics, .pHostObject = profiler.host, .metricType = type);
        status = say(calls.cuptiProfilerHostGetBaseMetrics(&params), "list the chip's metrics", err);
        for (size_t i = 0; i < params.numMetrics && status == STATUS_OK; i++)
            see_metric(&profiler, params.ppMetricNames[i], type, see, seer);
    }
    close_host(&profiler);
    return status;
}
