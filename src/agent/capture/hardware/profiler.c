#include "agent/capture/hardware/profiler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAYS_MAX                                                                                          \
    8 /* kernels that other threads launch meanwhile are counted as well, and detected by this */
#define RANGE_TIME "gpu__time_duration.sum"

struct profiler {
    enum profiler_scope scope;
    profiler_range_handle ranges;
    struct profiler_host host; /* its names: the metrics, then RANGE_TIME if needed */
    size_t ranges_max;
    size_t ranges_marked; /* ranges marked since the last read */
    bool is_looping;      /* a pass of the loop is being counted */
    struct profiler_image data;
};

/* Whether the metric is counted by code that CUPTI patches into the kernel. CUPTI does not count it in the
 * run whose time it takes, which is the last of several (13.5 on an H200). */
static bool is_patched(const char *metric)
{
    return strstr(metric, "__sass_") != NULL;
}

static size_t split(const struct profiler *profiler, bool are_patched, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < profiler->host.name_count; i++)
        if (is_patched(profiler->host.names[i]) == are_patched)
            names[count++] = profiler->host.names[i];
    return count;
}

/* Adds the range's time to the metrics if there are rates, because a range takes longer than its kernel. */
static void time_ranges(struct profiler *profiler)
{
    bool has_rates = false;
    for (size_t i = 0; i < profiler->host.metric_count; i++)
        has_rates |= gpu_counter_is_rate(profiler->host.names[i]);
    if (has_rates)
        profiler->host.names[profiler->host.name_count++] = RANGE_TIME;
}

static enum status choose(struct profiler *profiler, struct error *err)
{
    const char *patched[PROFILER_NAMES_MAX], *others[PROFILER_NAMES_MAX];
    size_t patched_count = split(profiler, true, patched), others_count = split(profiler, false, others);
    if (patched_count && profiler->scope != PROFILER_REPLAYS)
        return error_set(
            err, STATUS_INVALID,
            "%s is counted by code that CUPTI adds to kernels, which does not work in a single run; set "
            "counters.replay to kernel, or count the pipes instead (cuspan counters '*_pipe_*')",
            patched[0]);
    if (patched_count && others_count == 0)
        others[others_count++] = RANGE_TIME; /* belongs to the last run */
    uint32_t result = profiler_host_add(profiler->host.handle, patched, patched_count);
    if (result == CUPTI_OK)
        result = profiler_host_add(profiler->host.handle, others, others_count);
    return profiler_host_explain(result, "count the metrics", err);
}

static enum status plan(struct profiler *profiler, const struct pattern_list *metrics, size_t *passes,
                        struct error *err)
{
    enum status status = profiler_host_find(&profiler->host, metrics, err);
    if (profiler->scope == PROFILER_RUNS_ONCE)
        time_ranges(profiler);
    if (status == STATUS_OK)
        status = choose(profiler, err);
    return status == STATUS_OK ? profiler_host_configure(&profiler->host, passes, err) : status;
}

static enum status choose_metrics(struct profiler *profiler, const struct pattern_list *metrics,
                                  struct error *err)
{
    size_t passes = 0;
    enum status status = plan(profiler, metrics, &passes, err);
    if (status == STATUS_OK && passes > 1 && profiler->scope == PROFILER_RUNS_ONCE)
        return error_set(err, STATUS_INVALID,
                         "%s counts these %zu metrics in %zu passes, but a kernel runs once; "
                         "name fewer in distribution.cuspan.counters.metrics or set counters.replay to "
                         "kernel for kernels that may run again",
                         profiler->host.chip, metrics->count, passes);
    return status;
}

size_t profiler_ranges_max(const struct profiler *profiler)
{
    return profiler->ranges_max;
}

static enum status size_data(struct profiler *profiler, size_t *bytes, struct error *err)
{
    PROFILER_PARAMS(params, profiler_data_size, counterDataSize, .pRangeProfilerObject = profiler->ranges,
                    .pMetricNames = profiler->host.names, .numMetrics = profiler->host.name_count,
                    .maxNumOfRanges = profiler->ranges_max,
                    .maxNumRangeTreeNodes = (uint32_t)profiler->ranges_max);
    enum status status =
        PROFILER_CALL(cuptiRangeProfilerGetCounterDataSize, params, "allocate the counter buffer", err);
    *bytes = params.counterDataSize;
    return status;
}

/* Makes the data image, with as many ranges as fit. */
static enum status make_data(struct profiler *profiler, struct error *err)
{
    static const size_t most[] = {
        [PROFILER_RUNS_ONCE] = PROFILER_RANGES_MAX, [PROFILER_REPLAYS] = REPLAYS_MAX, [PROFILER_LOOPS] = 1};
    size_t bytes = 0;
    profiler->ranges_max = most[profiler->scope];
    enum status status = size_data(profiler, &bytes, err);
    while (status == STATUS_OK && bytes > PROFILER_IMAGE_BYTES_MAX && profiler->ranges_max > 1) {
        profiler->ranges_max /= 2;
        status = size_data(profiler, &bytes, err);
    }
    return status == STATUS_OK ? profiler_host_make_image(&profiler->data, bytes, "the counters' values", err)
                               : status;
}

static enum status clear_data(struct profiler *profiler, struct error *err)
{
    PROFILER_PARAMS(params, profiler_data_initialize, pCounterData, .pRangeProfilerObject = profiler->ranges,
                    .counterDataSize = profiler->data.size, .pCounterData = profiler->data.bytes);
    profiler->ranges_marked = 0;
    return PROFILER_CALL(cuptiRangeProfilerCounterDataImageInitialize, params, "clear the counters", err);
}

static enum status set_config(struct profiler *profiler, struct error *err)
{
    bool replays = profiler->scope == PROFILER_REPLAYS;
    PROFILER_PARAMS(params, profiler_set_config, targetNestingLevel, .pRangeProfilerObject = profiler->ranges,
                    .configSize = profiler->host.config.size, .pConfig = profiler->host.config.bytes,
                    .counterDataImageSize = profiler->data.size, .pCounterDataImage = profiler->data.bytes,
                    .range = replays ? PROFILER_AUTO_RANGE : PROFILER_USER_RANGE,
                    .replayMode = replays ? PROFILER_KERNEL_REPLAY : PROFILER_USER_REPLAY,
                    .maxRangesPerPass = profiler->ranges_max, .numNestingLevels = 1, .minNestingLevel = 1);
    return PROFILER_CALL(cuptiRangeProfilerSetConfig, params, "configure the counters", err);
}

static enum status start(struct profiler *profiler, struct error *err)
{
    PROFILER_PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    return PROFILER_CALL(cuptiRangeProfilerStart, params, "start the counters", err);
}

enum status profiler_begin(struct profiler *profiler, struct error *err)
{
    enum status status = clear_data(profiler, err);
    if (status == STATUS_OK)
        status = set_config(profiler, err);
    return status == STATUS_OK ? start(profiler, err) : status;
}

static enum status open_ranges(struct profiler *profiler, cuda_context_handle context, struct error *err)
{
    PROFILER_PARAMS(params, profiler_enable, pRangeProfilerObject, .ctx = context);
    enum status status = PROFILER_CALL(cuptiRangeProfilerEnable, params, "enable the counters", err);
    if (status != STATUS_OK)
        return status;
    profiler->ranges = params.pRangeProfilerObject;
    status = make_data(profiler, err);
    return status == STATUS_OK && profiler->scope == PROFILER_RUNS_ONCE ? profiler_begin(profiler, err)
                                                                        : status;
}

enum status profiler_open(cuda_context_handle context, const struct pattern_list *metrics,
                          enum profiler_scope scope, struct profiler **opened, struct error *err)
{
    struct profiler *profiler = calloc(1, sizeof *profiler);
    if (!profiler)
        return error_set(err, STATUS_NO_MEMORY, "cannot allocate memory for hardware counters");
    profiler->scope = scope;
    enum status status = profiler_host_open(&profiler->host, PROFILER_RANGES, context, 0, err);
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

void profiler_close(struct profiler *profiler)
{
    if (!profiler)
        return;
    if (profiler->ranges) {
        PROFILER_PARAMS(params, profiler_object, pRangeProfilerObject,
                        .pRangeProfilerObject = profiler->ranges);
        profiler_calls.cuptiRangeProfilerDisable(&params);
    }
    profiler_host_close(&profiler->host);
    free(profiler->data.bytes);
    free(profiler);
}

size_t profiler_metric_count(const struct profiler *profiler)
{
    return profiler->host.metric_count;
}

/* Each range gets a unique name, because ranges with equal names could be merged. */
enum status profiler_push(struct profiler *profiler, struct error *err)
{
    char name[16];
    PROFILER_PARAMS(params, profiler_push_range, pRangeName, .pRangeProfilerObject = profiler->ranges,
                    .pRangeName = name);
    snprintf(name, sizeof name, "%zu", profiler->ranges_marked);
    return PROFILER_CALL(cuptiRangeProfilerPushRange, params, "start counting", err);
}

enum status profiler_pop(struct profiler *profiler, struct error *err)
{
    PROFILER_PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    profiler->ranges_marked++;
    return PROFILER_CALL(cuptiRangeProfilerPopRange, params, "stop counting", err);
}

static enum status stop(struct profiler *profiler, bool *has_all, struct error *err)
{
    PROFILER_PARAMS(params, profiler_stop, isAllPassSubmitted, .pRangeProfilerObject = profiler->ranges);
    enum status status = PROFILER_CALL(cuptiRangeProfilerStop, params, "stop the counters", err);
    *has_all = params.isAllPassSubmitted;
    return status;
}

/* Decodes the counted data, and sets `*ranges` and `*dropped` to the numbers of ranges. */
static enum status decode(struct profiler *profiler, size_t *ranges, size_t *dropped, struct error *err)
{
    PROFILER_PARAMS(decode, profiler_decode, numOfRangeDropped, .pRangeProfilerObject = profiler->ranges);
    PROFILER_PARAMS(info, profiler_data_info, numTotalRanges, .pCounterDataImage = profiler->data.bytes,
                    .counterDataImageSize = profiler->data.size);
    enum status status = PROFILER_CALL(cuptiRangeProfilerDecodeData, decode, "read the counters", err);
    if (status == STATUS_OK)
        status = PROFILER_CALL(cuptiRangeProfilerGetCounterDataInfo, info, "read the counters", err);
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

static enum status evaluate(const struct profiler *profiler, size_t range, double *values, struct error *err)
{
    return profiler_host_evaluate(&profiler->host, &profiler->data, range, values, err);
}

enum status profiler_read(struct profiler *profiler, bool goes_on, profiler_counts_fn *see, void *seer,
                          struct error *err)
{
    size_t ranges = 0, dropped = 0, metric_count = profiler->host.metric_count;
    enum status status = stop_and_decode(profiler, &ranges, &dropped, err);
    if (status == STATUS_OK && (ranges != profiler->ranges_marked || dropped))
        return error_set(err, STATUS_UNAVAILABLE, "CUPTI counted %zu of %zu ranges", ranges,
                         profiler->ranges_marked);
    for (size_t i = 0; i < ranges && status == STATUS_OK; i++) {
        double values[PROFILER_NAMES_MAX] = {0};
        struct profiler_counts counts;
        status = evaluate(profiler, i, values, err);
        memcpy(counts.values, values, sizeof counts.values);
        counts.range_ns = profiler->host.name_count > metric_count ? values[metric_count] : 0;
        if (status == STATUS_OK)
            see(seer, i, &counts);
    }
    return status == STATUS_OK && goes_on ? profiler_begin(profiler, err) : status;
}

enum status profiler_end(struct profiler *profiler, double *values, size_t *count, struct error *err)
{
    size_t ranges = 0, dropped = 0;
    enum status status = stop_and_decode(profiler, &ranges, &dropped, err);
    *count = ranges + dropped;
    return status == STATUS_OK && ranges > 0 ? evaluate(profiler, 0, values, err) : status;
}

/* Pushes the range of a pass, which started with this status. */
static enum status push_pass(struct profiler *profiler, enum status status, struct error *err)
{
    if (status == STATUS_OK)
        status = profiler_push(profiler, err);
    profiler->is_looping = status == STATUS_OK;
    return status;
}

enum status profiler_loop_begin(struct profiler *profiler, struct error *err)
{
    return push_pass(profiler, profiler_begin(profiler, err), err);
}

static enum status end_pass(struct profiler *profiler, bool *has_all, struct error *err)
{
    PROFILER_PARAMS(params, profiler_object, pRangeProfilerObject, .pRangeProfilerObject = profiler->ranges);
    profiler->is_looping = false;
    enum status status = PROFILER_CALL(cuptiRangeProfilerPopRange, params, "stop counting", err);
    return status == STATUS_OK ? stop(profiler, has_all, err) : status;
}

enum status profiler_loop_again(struct profiler *profiler, bool *again, struct error *err)
{
    bool has_all = false;
    enum status status = end_pass(profiler, &has_all, err);
    *again = status == STATUS_OK && !has_all;
    /* CUPTI continues with the next pass as long as its data are not cleared. */
    return *again ? push_pass(profiler, start(profiler, err), err) : status;
}

enum status profiler_loop_end(struct profiler *profiler, double *values, struct error *err)
{
    bool has_all;
    size_t ranges = 0, dropped = 0;
    if (profiler->is_looping) {
        enum status left = end_pass(profiler, &has_all, err);
        return left == STATUS_OK ? error_set(err, STATUS_NOT_FOUND, "the loop ended before its last pass")
                                 : left;
    }
    enum status status = decode(profiler, &ranges, &dropped, err);
    if (status == STATUS_OK && (ranges != 1 || dropped))
        return error_set(err, STATUS_UNAVAILABLE, "CUPTI counted %zu ranges of a loop instead of one",
                         ranges);
    return status == STATUS_OK ? evaluate(profiler, 0, values, err) : status;
}

static void join_rollups(const struct profiler *profiler, struct doctor_metric *metric, uint32_t type,
                         char *text, size_t size)
{
    PROFILER_PARAMS(params, profiler_sub_metrics, ppSubMetrics, .pHostObject = profiler->host.handle,
                    .metricType = type, .pMetricName = metric->name);
    text[0] = '\0';
    metric->rollups = text;
    if (profiler_calls.cuptiProfilerHostGetSubMetrics(&params) != CUPTI_OK)
        return;
    for (size_t i = 0, length = 0; i < params.numOfSubmetrics && length < size; i++)
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", i ? " " : "", params.ppSubMetrics[i]);
}

static void see_metric(const struct profiler *profiler, const char *name, uint32_t type,
                       const struct doctor_counters *ask)
{
    char rollups[2048];
    PROFILER_PARAMS(params, profiler_metric_properties, metricType, .pHostObject = profiler->host.handle,
                    .pMetricName = name);
    struct doctor_metric metric = {.name = name, .description = "", .hardware = "", .unit = ""};
    if (profiler_calls.cuptiProfilerHostGetMetricProperties(&params) == CUPTI_OK) {
        metric.description = params.pDescription ? params.pDescription : "";
        metric.hardware = params.pHwUnit ? params.pHwUnit : "";
        metric.unit = params.pDimUnit ? params.pDimUnit : "";
    }
    join_rollups(profiler, &metric, type, rollups, sizeof rollups);
    ask->on_metric(ask->context, &metric);
}

static enum status list_metrics(const struct profiler *profiler, const struct doctor_counters *ask,
                                struct error *err)
{
    enum status status = STATUS_OK;
    for (uint32_t kind = 0; kind < PROFILER_METRIC_TYPES && status == STATUS_OK; kind++) {
        PROFILER_PARAMS(params, profiler_base_metrics, numMetrics, .pHostObject = profiler->host.handle,
                        .metricType = kind);
        status = PROFILER_CALL(cuptiProfilerHostGetBaseMetrics, params, "list the chip's metrics", err);
        for (size_t i = 0; i < params.numMetrics && status == STATUS_OK; i++)
            see_metric(profiler, params.ppMetricNames[i], kind, ask);
    }
    return status;
}

static enum status tell_passes(struct profiler *profiler, const struct doctor_counters *ask,
                               struct error *err)
{
    size_t passes = 0;
    enum status status = ask->of_samples
                             ? profiler_host_plan_samples(&profiler->host, ask->metrics, &passes, err)
                             : plan(profiler, ask->metrics, &passes, err);
    if (status == STATUS_OK)
        ask->on_plan(ask->context, passes);
    return status;
}

enum status profiler_describe(cuda_context_handle context, const struct doctor_counters *ask,
                              struct doctor_chip *chip, struct error *err)
{
    struct profiler profiler = {0};
    enum profiler_type type = ask->of_samples ? PROFILER_SAMPLES : PROFILER_RANGES;
    enum status status = profiler_host_open(&profiler.host, type, context, 0, err);
    if (status == STATUS_OK) {
        snprintf(chip->chip, sizeof chip->chip, "%s", profiler.host.chip);
        ask->on_chip(ask->context, chip);
        status =
            ask->metrics->count == 0 ? list_metrics(&profiler, ask, err) : tell_passes(&profiler, ask, err);
    }
    profiler_host_close(&profiler.host);
    return status;
}
