#include "agent/core/metrics/metrics_export.h"

#include "base/hash.h"
#include "agent/core/metrics/series.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/capture/hardware/nvml.h"
#include "agent/capture/hardware/pm_sampling.h"
#include "agent/export/delivery/operations.h"
#include "model/hang/live_state.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AHEAD_NS        (1 * NS_PER_SECOND) /* NVML is read this long before an export */
#define ASK_AGAIN_NS        (50 * NS_PER_MS)    /* if no GPU is known yet */
#define EXPORTER_TYPE_BYTES 40
#define EXPORTER_NAME_BYTES (EXPORTER_TYPE_BYTES + 8)
#define SUMS_MAX            2048 /* for delta temporality; a power of two */

static const struct attr_key key_hw_id = ATTR_KEY(SEMCONV_HW_ID);
static const struct attr_key key_component_type = ATTR_KEY(SEMCONV_OTEL_COMPONENT_TYPE);
static const struct attr_key key_component_name = ATTR_KEY(SEMCONV_OTEL_COMPONENT_NAME);
static const struct attr_key key_error_type = ATTR_KEY(SEMCONV_ERROR_TYPE);

/* The value of a sum at the last export. */
struct sum_before {
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct metrics {
    const struct settings *settings;
    uint64_t next_ns;     /* monotonic */
    uint64_t next_ask_ns; /* NVML */
    struct hardware hardware;
    char sensor_ids[HARDWARE_GPUS_MAX][2][HARDWARE_ID_BYTES + 8]; /* "GPU-.../memory" */
    struct pm_sampled sampled[PM_SAMPLED_MAX];
    uint64_t begun_ns;    /* start of the statistics and of all cumulative sums */
    uint64_t interval_ns; /* start of the current interval, since 1970 */
    uint64_t now_ns;      /* one time for all points of an export */
    struct outputs *outputs;
    struct correlate *correlate;
    enum metric metric; /* of `points` */
    uint32_t count;
    struct metric_point points[SERIES_POINTS_AT_ONCE];
    struct series *series;
    struct sum_before sums[SUMS_MAX];
    char exporter_types[OUTPUT_NUMBERS][EXPORTER_TYPE_BYTES];
    char exporter_names[OUTPUT_NUMBERS][EXPORTER_NAME_BYTES];
    char communicator_ids[LIVE_COMMUNICATORS][sizeof "0x0123456789abcdef"];
};

/* Names of OpenTelemetry, which has none for file exporters, numbered per type: "otlp_http_span_exporter/1".
 */
static void name_exporter(struct metrics *m, size_t output, const struct output_settings *settings)
{
    static const char *const kinds[] = {[EXPORTER_OTLP_HTTP] = "otlp_http",
                                        [EXPORTER_OTLP_GRPC] = "otlp_grpc",
                                        [EXPORTER_FILE] = "otlp_file",
                                        [EXPORTER_CONSOLE] = "console"};
    const struct exporter_settings *exporter = &settings->exporter;
    bool is_json = exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON;
    char type[EXPORTER_TYPE_BYTES];
    unsigned number = 0;
    snprintf(type, sizeof type, "%s%s_%s_exporter", kinds[exporter->kind], is_json ? "_json" : "",
             settings->signal == SIGNAL_METRICS ? "metric" : "span");
    for (size_t before = 0; before < output; before++)
        number += strcmp(m->exporter_types[before], type) == 0;
    memcpy(m->exporter_types[output], type, sizeof type);
    snprintf(m->exporter_names[output], EXPORTER_NAME_BYTES, "%s/%u", type, number);
}

enum status metrics_export_create(const struct settings *settings, struct metrics **metrics)
{
    struct metrics *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    if (series_create(settings->metrics.streams, &made->series) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->settings = settings;
    made->begun_ns = made->interval_ns = clock_now_ns();
    for (size_t i = 0; i < settings->output_count; i++)
        name_exporter(made, i, &settings->outputs[i]);
    name_exporter(made, METRICS_OUTPUT, &settings->metrics.output);
    made->next_ns = clock_monotonic_ns() + settings->metrics.interval_ms * NS_PER_MS;
    *metrics = made;
    if (settings_keep_awake(settings))
        log_info("metrics also count what is not sampled, so cuspan does not sleep");
    return STATUS_OK;
}

void metrics_export_destroy(struct metrics *metrics)
{
    if (!metrics)
        return;
    nvml_end();
    series_destroy(metrics->series);
    free(metrics);
}

/* Points. */

/* Whether the driver sums up, whose start is unknown. */
static bool is_of_driver(enum metric metric)
{
    return metric == METRIC_HW_ENERGY || metric == METRIC_HW_ERRORS;
}

static bool is_delta(const struct metrics *m, enum metric metric)
{
    enum temporality wanted = m->settings->metrics.temporality;
    uint8_t type = metric_table[metric].type;
    if (is_of_driver(metric))
        return false;
    return (wanted == TEMPORALITY_DELTA && (type == METRIC_SUM || type == METRIC_HISTOGRAM)) ||
           (wanted == TEMPORALITY_LOW_MEMORY && type == METRIC_HISTOGRAM);
}

static void send_points(struct metrics *m)
{
    series_add(m->series, m->outputs, m->metric, is_delta(m, m->metric), m->points, m->count);
    m->count = 0;
}

/* All points of a metric are consecutive. */
static void end_metric(struct metrics *m)
{
    send_points(m);
    series_end(m->series, m->outputs, m->metric, is_delta(m, m->metric));
}

/* Returns the next point of this metric. Points of another metric are sent before. */
static struct metric_point *add_point(struct metrics *m, enum metric metric)
{
    if (m->metric != metric)
        end_metric(m);
    else if (m->count == SERIES_POINTS_AT_ONCE)
        send_points(m);
    m->metric = metric;
    struct metric_point *point = &m->points[m->count++];
    point->time_ns = m->now_ns;
    point->start_ns = is_delta(m, metric) ? m->interval_ns : m->begun_ns;
    if (metric_table[metric].type == METRIC_GAUGE || is_of_driver(metric))
        point->start_ns = 0;
    point->attr_count = 0;
    return point;
}

/* These ignore a point that is NULL, because it is not exported. */
static void put(struct metric_point *point, struct span_attr attr)
{
    if (point)
        point->attrs[point->attr_count++] = attr;
}

static void put_text(struct metric_point *point, const struct attr_key *key, const char *text)
{
    put(point, (struct span_attr){.key = key, .type = ATTR_STRING, .s = text, .len = (uint32_t)strlen(text)});
}

static void put_int(struct metric_point *point, const struct attr_key *key, int64_t value)
{
    put(point, (struct span_attr){.key = key, .type = ATTR_INT, .i = value});
}

static void put_overflow(struct metric_point *point)
{
    put(point, (struct span_attr){.key = &key_metric_overflow, .type = ATTR_BOOL, .i = 1});
}

static void put_device(const struct metrics *m, struct metric_point *point, uint32_t device)
{
    const char *id = correlate_device_id(m->correlate, device);
    if (*id)
        put_text(point, &key_hw_id, id);
    put_int(point, ATTR(SEMCONV_CUDA_DEVICE_ID), device);
}

/* The increase since the last export. If the table of last values is full, it is 0, because exporting the
 * whole sum each time would be wrong. The table has room for all devices, kinds and reasons. */
static uint64_t rise(struct metrics *m, enum metric metric, uint32_t series, uint64_t value)
{
    uint64_t key = (uint64_t)(metric + 1) << 32 | series;
    uint32_t at = (uint32_t)(key * HASH_SPREAD >> 40) & (SUMS_MAX - 1), first = at;
    while (m->sums[at].key && m->sums[at].key != key)
        if ((at = (at + 1) & (SUMS_MAX - 1)) == first)
            return 0;
    uint64_t before = m->sums[at].key ? m->sums[at].value : 0;
    m->sums[at] = (struct sum_before){key, value};
    return value > before ? value - before : 0;
}

/* `series` identifies it among points of the same metric. NULL: no increase in the interval of a delta. */
static struct metric_point *add_sum(struct metrics *m, enum metric metric, uint32_t series, uint64_t value)
{
    bool delta = is_delta(m, metric);
    uint64_t shown = delta ? rise(m, metric, series, value) : value;
    if (delta && shown == 0)
        return NULL;
    struct metric_point *point = add_point(m, metric);
    point->i = shown;
    return point;
}

static struct metric_point *add_histogram(struct metrics *m, enum metric metric,
                                          const struct histogram *histogram)
{
    if (!histogram || histogram->count == 0)
        return NULL;
    struct metric_point *point = add_point(m, metric);
    point->histogram = histogram;
    return point;
}

/* Metrics of the program. */

static void add_calls(struct metrics *m, const struct live_stats *figures)
{
    add_sum(m, METRIC_CALLS, 0, figures->calls);
    add_sum(m, METRIC_CALL_ERRORS, 0, figures->errors);
    add_sum(m, METRIC_CALL_TIME, 0, figures->call_ns);
    add_sum(m, METRIC_WAIT_TIME, 0, figures->waiting_ns);
    add_sum(m, METRIC_LAUNCHES, 0, figures->launches);
}

static void add_kernels(struct metrics *m, const struct live_stats *figures)
{
    for (uint32_t i = 0; i < figures->kernel_count; i++) {
        const struct kernel_stats *kernel = figures->kernels[i];
        struct metric_point *point = add_histogram(m, METRIC_KERNEL_DURATION, kernel->histogram);
        put_device(m, point, kernel->device_id);
        put_text(point, ATTR(SEMCONV_CUDA_KERNEL_SHORT_NAME), kernel->name);
    }
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        const struct device_stats *device = figures->devices[i];
        struct metric_point *point =
            device ? add_histogram(m, METRIC_KERNEL_DURATION, device->others.histogram) : NULL;
        put_device(m, point, i);
        put_overflow(point);
    }
}

static void add_copies(struct metrics *m, enum metric metric, uint32_t device,
                       const struct device_stats *figures)
{
    for (uint32_t kind = 0; kind < LIVE_STATS_COPY_KINDS; kind++) {
        const struct copy_stats *copies = &figures->copies[kind];
        struct metric_point *point = NULL;
        if (metric == METRIC_COPY_DURATION)
            point = add_histogram(m, metric, copies->histogram);
        else if (copies->sum.count)
            point = add_sum(m, metric, device << 8 | kind, copies->bytes);
        put_device(m, point, device);
        put_text(point, ATTR(SEMCONV_CUDA_MEMCPY_KIND), copy_kind_name(kind));
    }
}

static void add_device_sum(struct metrics *m, enum metric metric, uint32_t device, uint64_t value)
{
    put_device(m, value ? add_sum(m, metric, device << 8, value) : NULL, device);
}

static void add_device(struct metrics *m, enum metric metric, uint32_t device,
                       const struct device_stats *figures)
{
    if (metric == METRIC_COPY_DURATION || metric == METRIC_COPY_BYTES)
        add_copies(m, metric, device, figures);
    else if (metric == METRIC_LAUNCH_LATENCY)
        put_device(m, add_histogram(m, metric, figures->latency), device);
    else if (metric == METRIC_FILL_DURATION)
        put_device(m, add_histogram(m, metric, figures->fills.histogram), device);
    else if (metric == METRIC_FILL_BYTES)
        add_device_sum(m, metric, device, figures->fills.bytes);
    else if (metric == METRIC_GRAPHS)
        add_device_sum(m, metric, device, figures->graphs.count);
    else if (metric == METRIC_GRAPH_TIME)
        add_device_sum(m, metric, device, figures->graphs.total_ns);
    else if (metric == METRIC_BUSY_TIME)
        add_device_sum(m, metric, device, figures->busy_ns);
}

/* Kinds without a use have no series. */
static void add_memory(struct metrics *m, uint32_t device, const struct memory_use *use,
                       enum memory_kind kind, enum metric metric)
{
    if (!use->peak)
        return;
    struct metric_point *point = add_point(m, metric);
    point->i = metric == METRIC_MEMORY_USAGE ? use->live : use->peak;
    if (kind != MEMORY_PINNED)
        put_device(m, point, device);
    put_text(point, ATTR(SEMCONV_CUDA_MEMORY_KIND), memory_kind_name(kind));
}

static void add_all_memory(struct metrics *m, const struct live_stats *figures, enum metric metric)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        for (enum memory_kind kind = 0; kind < MEMORY_PINNED && figures->devices[i]; kind++)
            add_memory(m, i, &figures->devices[i]->memory.kinds[kind], kind, metric);
    add_memory(m, 0, &figures->pinned, MEMORY_PINNED, metric);
}

/* `key` NULL: the kind is all that tells points of the metric apart. */
static void add_step(struct metrics *m, enum metric metric, const struct step_times *steps, unsigned kind,
                     const struct histogram *histogram, const struct attr_key *key, const char *text)
{
    struct metric_point *point = add_histogram(m, metric, histogram);
    if (steps->rank >= 0)
        put_int(point, ATTR(SEMCONV_CUDA_PROCESS_RANK), steps->rank);
    put_text(point, ATTR(SEMCONV_TRAINING_STEP_KIND), step_kind_name((uint8_t)kind));
    if (key)
        put_text(point, key, text);
}

static void add_steps(struct metrics *m, const struct step_times *steps)
{
    for (unsigned kind = 0; kind < STEP_NONE; kind++)
        for (unsigned source = 0; source < STEP_BY_NONE; source++)
            add_step(m, METRIC_STEP_DURATION, steps, kind, steps->durations[kind][source],
                     ATTR(SEMCONV_TRAINING_STEP_SOURCE), step_source_name((uint8_t)source));
    for (unsigned kind = 0; kind < STEP_NONE; kind++)
        for (enum step_part part = 0; part < STEP_PARTS; part++)
            add_step(m, METRIC_STEP_PART_DURATION, steps, kind, steps->parts[kind][part],
                     ATTR(SEMCONV_TRAINING_STEP_PART), step_part_name(part));
    for (unsigned kind = 0; kind < STEP_NONE; kind++)
        add_step(m, METRIC_STEP_COMMUNICATION_DURATION, steps, kind, steps->communication[kind], NULL, NULL);
}

static void put_engine(struct metric_point *point, const struct attr_key *key,
                       const struct engine_figures *engine)
{
    if (engine->is_others)
        put_overflow(point);
    else
        put_text(point, key, engine->name);
}

/* By the conventions for model servers. `end`: other than REQUEST_FINISHED, an error. */
static void add_requests(struct metrics *m, enum metric metric, const struct engine_figures *engine,
                         const struct histogram *histogram, unsigned end)
{
    struct metric_point *point = add_histogram(m, metric, histogram);
    put_text(point, ATTR(SEMCONV_GEN_AI_OPERATION_NAME), "text_completion");
    put_engine(point, ATTR(SEMCONV_GEN_AI_PROVIDER_NAME), engine);
    if (end != REQUEST_FINISHED)
        put_text(point, &key_error_type, request_end_name(end));
}

static void put_iterations(struct metric_point *point, const struct engine_figures *engine, unsigned kind)
{
    put_engine(point, ATTR(SEMCONV_ENGINE_NAME), engine);
    put_text(point, ATTR(SEMCONV_ENGINE_ITERATION_KIND), iteration_kind_name((uint8_t)kind));
    if (!engine->is_others)
        put_int(point, ATTR(SEMCONV_CUDA_PROCESS_RANK), engine->rank);
}

/* The engine's points of one metric. */
static void add_engine(struct metrics *m, enum metric metric, uint32_t series,
                       const struct engine_figures *engine)
{
    for (unsigned end = 0; end < REQUEST_ENDS && metric == METRIC_REQUEST_DURATION; end++)
        add_requests(m, metric, engine, engine->requests[end], end);
    for (unsigned phase = 0; phase < REQUEST_PHASES && metric == METRIC_ENGINE_TOKENS; phase++) {
        uint64_t tokens = engine->tokens[phase];
        struct metric_point *point = tokens ? add_sum(m, metric, series | phase, tokens) : NULL;
        put_engine(point, ATTR(SEMCONV_ENGINE_NAME), engine);
        put_text(point, ATTR(SEMCONV_ENGINE_PHASE), request_phase_name((enum request_phase)phase));
    }
    for (unsigned kind = 0; kind < ITERATION_KINDS && metric == METRIC_ITERATION_DURATION; kind++)
        put_iterations(add_histogram(m, metric, engine->iterations[kind]), engine, kind);
    for (unsigned kind = 0; kind < ITERATION_KINDS && metric == METRIC_ENGINE_GPU_TIME; kind++)
        put_iterations(engine->gpu_ns[kind] ? add_sum(m, metric, series | kind, engine->gpu_ns[kind]) : NULL,
                       engine, kind);
    if (metric == METRIC_REQUEST_FIRST_TOKEN)
        add_requests(m, metric, engine, engine->first_token, REQUEST_FINISHED);
    else if (metric == METRIC_REQUEST_PER_TOKEN)
        add_requests(m, metric, engine, engine->per_token, REQUEST_FINISHED);
    else if (metric == METRIC_REQUEST_QUEUE)
        put_engine(add_histogram(m, metric, engine->queue), ATTR(SEMCONV_ENGINE_NAME), engine);
    else if (metric == METRIC_REQUESTS_ACTIVE)
        put_engine(add_sum(m, metric, series, engine->active), ATTR(SEMCONV_ENGINE_NAME), engine);
    else if (metric == METRIC_ENGINE_PREEMPTIONS)
        put_engine(add_sum(m, metric, series, engine->preemptions), ATTR(SEMCONV_ENGINE_NAME), engine);
}

static void add_engines(struct metrics *m, const struct engine_figures *engines)
{
    for (enum metric metric = METRIC_REQUEST_DURATION; metric <= METRIC_ENGINE_GPU_TIME; metric++)
        for (uint32_t i = 0; i <= LIVE_STATS_ENGINES_MAX; i++)
            if (engines[i].is_used)
                add_engine(m, metric, i << 8, &engines[i]);
}

/* Or capture sleeps between the sampled steps of a job. */
static bool are_all_allocations_seen(const struct settings *settings)
{
    return !settings->steps.are_limited || settings->sampling.sleep == SLEEP_NEVER;
}

static void add_figures(struct metrics *m, const struct live_stats *figures)
{
    add_calls(m, figures);
    add_kernels(m, figures);
    for (enum metric metric = METRIC_LAUNCH_LATENCY; metric <= METRIC_BUSY_TIME; metric++)
        for (uint32_t i = 0; i < DEVICES_MAX; i++)
            if (figures->devices[i])
                add_device(m, metric, i, figures->devices[i]);
    if (figures->steps)
        add_steps(m, figures->steps);
    if (figures->engines)
        add_engines(m, figures->engines);
    if (are_all_allocations_seen(m->settings)) {
        add_all_memory(m, figures, METRIC_MEMORY_USAGE);
        add_all_memory(m, figures, METRIC_MEMORY_PEAK);
    }
}

/* cuspan itself. */

static const char *const processor_names[OUTPUTS_MAX] = {
    "batching_span_processor/0", "batching_span_processor/1", "batching_span_processor/2",
    "batching_span_processor/3"};

static void put_processor(struct metric_point *point, size_t output)
{
    put_text(point, &key_component_type, "batching_span_processor");
    put_text(point, &key_component_name, processor_names[output]);
}

static void put_exporter(const struct metrics *m, struct metric_point *point, size_t output)
{
    put_text(point, &key_component_type, m->exporter_types[output]);
    put_text(point, &key_component_name, m->exporter_names[output]);
}

static void add_level(struct metrics *m, enum metric metric, uint64_t value, size_t output, bool is_exporter)
{
    struct metric_point *point = add_point(m, metric);
    point->i = value;
    if (is_exporter)
        put_exporter(m, point, output);
    else
        put_processor(point, output);
}

/* Losses after the queue are counted per output. With one output they are known by reason. */
static void add_exported(struct metrics *m, size_t output, const struct output_fates *fates)
{
    static const enum counter reasons[] = {COUNTER_lost_rejected, COUNTER_lost_refused,
                                           COUNTER_lost_unreachable, COUNTER_lost_deadline,
                                           COUNTER_lost_output};
    uint32_t series = (uint32_t)output << 8;
    put_exporter(m, add_sum(m, METRIC_EXPORTED, series, fates->delivered), output);
    if (m->settings->output_count > 1 && fates->lost) {
        struct metric_point *point = add_sum(m, METRIC_EXPORTED, series | 1, fates->lost);
        put_exporter(m, point, output);
        put_text(point, &key_error_type, "_OTHER");
    }
    for (uint32_t i = 0; i < sizeof reasons / sizeof *reasons && m->settings->output_count == 1; i++) {
        uint64_t lost = counter_get(reasons[i]);
        struct metric_point *point = lost ? add_sum(m, METRIC_EXPORTED, series | (2 + i), lost) : NULL;
        put_exporter(m, point, output);
        put_text(point, &key_error_type, counter_name(reasons[i]) + strlen("lost_"));
    }
}

static void add_health(struct metrics *m)
{
    struct output_health health[OUTPUTS_MAX];
    size_t count = m->settings->output_count;
    uint64_t created = counter_get(COUNTER_spans_created), full = counter_get(COUNTER_lost_queue_full);
    for (size_t i = 0; i < count; i++)
        outputs_health(m->outputs, i, &health[i]);
    for (size_t i = 0; i < count; i++)
        add_level(m, METRIC_QUEUE_SIZE, health[i].queued, i, false);
    for (size_t i = 0; i < count; i++)
        add_level(m, METRIC_QUEUE_CAPACITY, m->settings->outputs[i].queue_spans_max, i, false);
    for (size_t i = 0; i < count; i++) {
        uint64_t lost = count == 1 ? full : 0;
        put_processor(add_sum(m, METRIC_PROCESSED, (uint32_t)i, created - lost), i);
        struct metric_point *point = lost ? add_sum(m, METRIC_PROCESSED, 256, lost) : NULL;
        put_processor(point, i);
        put_text(point, &key_error_type, "queue_full");
    }
    for (size_t i = 0; i < count; i++)
        add_level(m, METRIC_INFLIGHT, health[i].inflight, i, true);
    for (size_t i = 0; i < count; i++)
        add_exported(m, i, &health[i].fates);
}

static void put_operation(const struct metrics *m, struct metric_point *point,
                          const struct operation *operation)
{
    if (operation->output == OPERATIONS_NO_OUTPUT) {
        put_overflow(point);
        return;
    }
    put_exporter(m, point, operation->output);
    if (*operation->error)
        put_text(point, &key_error_type, operation->error);
    if (operation->http_status)
        put_int(point, ATTR(SEMCONV_HTTP_RESPONSE_STATUS_CODE), operation->http_status);
}

/* Encoded at once, because senders continue to count. */
static void add_operations(struct metrics *m)
{
    uint32_t count;
    struct operations *operations = outputs_operations(m->outputs);
    const struct operation *items = operations_lock(operations, &count);
    for (uint32_t i = 0; i < count; i++)
        put_operation(m, add_histogram(m, METRIC_OPERATION_DURATION, items[i].histogram), &items[i]);
    end_metric(m);
    operations_unlock(operations, is_delta(m, METRIC_OPERATION_DURATION));
}

/* Spans on disk that no collector has accepted. */
static void add_spooled(struct metrics *m)
{
    struct output_health health;
    for (size_t i = 0; i < m->settings->output_count && m->settings->spool.directory; i++) {
        outputs_health(m->outputs, i, &health);
        add_level(m, METRIC_SPOOLED, health.fates.spooled, i, true);
    }
}

static void add_progress_in(struct metrics *m, const struct live_progress *progress, bool is_completed)
{
    struct metric_point *point = add_sum(m, METRIC_JOB_PROGRESS, 2 * progress->place + is_completed,
                                         is_completed ? progress->completed : progress->enqueued);
    char *id = m->communicator_ids[progress->place];
    if (!point)
        return;
    snprintf(id, sizeof m->communicator_ids[0], "0x%llx", (unsigned long long)progress->communicator);
    put_text(point, ATTR(SEMCONV_COLLECTIVE_COMMUNICATOR), id);
    if (progress->ranks)
        put_int(point, ATTR(SEMCONV_COLLECTIVE_RANKS), progress->ranks);
    put_text(point, ATTR(SEMCONV_COLLECTIVE_STATE), is_completed ? "completed" : "enqueued");
}

static void add_progress(struct metrics *m)
{
    struct live_progress progress[LIVE_COMMUNICATORS];
    uint32_t count = live_get_progress(progress);
    for (uint32_t i = 0; i < count; i++) {
        add_progress_in(m, &progress[i], false);
        add_progress_in(m, &progress[i], true);
    }
}

static void add_own(struct metrics *m)
{
    add_health(m);
    add_operations(m);
    add_spooled(m);
    add_progress(m);
    for (enum counter i = 0; i < COUNTER_COUNT; i++) {
        uint64_t lost = counter_is_loss(i) ? counter_get(i) : 0;
        struct metric_point *point = lost ? add_sum(m, METRIC_LOST, i, lost) : NULL;
        put_text(point, ATTR(SEMCONV_CUSPAN_LOST_REASON), counter_name(i) + strlen("lost_"));
    }
    add_sum(m, METRIC_CPU_TIME, 0, clock_read_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* Samples of whole GPUs. */

static void add_sampled(struct metrics *m, enum metric metric, const struct pm_sampled *sampled,
                        const char *statistic, double value)
{
    const char *setting = m->settings->counters.sampling.metrics.patterns[sampled->metric];
    struct metric_point *point = add_point(m, metric);
    point->d = value;
    put_device(m, point, sampled->device);
    put(point, (struct span_attr){.key = ATTR(SEMCONV_CUDA_COUNTER_NAME),
                                  .type = ATTR_STRING,
                                  .s = setting,
                                  .len = (uint32_t)strcspn(setting, "=")});
    put_text(point, ATTR(SEMCONV_CUDA_COUNTER_STATISTIC), statistic);
}

static void add_all_sampled(struct metrics *m)
{
    const struct pattern_list *names = &m->settings->counters.sampling.metrics;
    size_t count = pm_sampling_take(m->sampled);
    for (enum metric metric = METRIC_COUNTER_THROUGHPUT; metric <= METRIC_COUNTER_RATIO; metric++) {
        for (size_t i = 0; i < count; i++) {
            const struct pm_sampled *sampled = &m->sampled[i];
            if ((enum metric)gpu_counter_kind(names->patterns[sampled->metric]) !=
                metric - METRIC_COUNTER_THROUGHPUT)
                continue;
            add_sampled(m, metric, sampled, "mean", sampled->mean);
            add_sampled(m, metric, sampled, "min", sampled->min);
            add_sampled(m, metric, sampled, "max", sampled->max);
        }
    }
}

/* Only devices that have had work. */
static void sample_devices(const struct live_stats *figures)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        if (figures->devices[i])
            pm_sampling_use(i);
}

/* Hardware. */

struct hardware_row {
    enum metric metric;
    enum hardware_field field;
    struct attr_key key; /* of the attribute that tells points of the metric apart; "": none */
    const char *value;
};
static const struct hardware_row hardware_rows[] = {
    {METRIC_HW_UTILIZATION, HARDWARE_UTILIZATION, ATTR_KEY(SEMCONV_HW_GPU_TASK), "general"},
    {METRIC_HW_MEMORY_LIMIT, HARDWARE_MEMORY_LIMIT, .value = NULL},
    {METRIC_HW_MEMORY_USAGE, HARDWARE_MEMORY_USAGE, .value = NULL},
    {METRIC_HW_MEMORY_UTILIZATION, HARDWARE_MEMORY_UTILIZATION, .value = NULL},
    {METRIC_HW_TEMPERATURE, HARDWARE_TEMPERATURE, ATTR_KEY(SEMCONV_HW_SENSOR_LOCATION), "gpu"},
    {METRIC_HW_TEMPERATURE, HARDWARE_MEMORY_TEMPERATURE, ATTR_KEY(SEMCONV_HW_SENSOR_LOCATION), "memory"},
    {METRIC_HW_POWER, HARDWARE_POWER, ATTR_KEY(SEMCONV_HW_TYPE), "gpu"},
    {METRIC_HW_ENERGY, HARDWARE_ENERGY, ATTR_KEY(SEMCONV_HW_TYPE), "gpu"},
    {METRIC_HW_ERRORS, HARDWARE_ECC_CORRECTED, ATTR_KEY(SEMCONV_ERROR_TYPE), "ecc_corrected"},
    {METRIC_HW_ERRORS, HARDWARE_ECC_UNCORRECTED, ATTR_KEY(SEMCONV_ERROR_TYPE), "ecc_uncorrected"},
    {METRIC_HW_ERRORS, HARDWARE_PCIE_REPLAYS, ATTR_KEY(SEMCONV_ERROR_TYPE), "pcie_replay"},
    {METRIC_HW_ERRORS, HARDWARE_XIDS, ATTR_KEY(SEMCONV_ERROR_TYPE), "xid"},
    {METRIC_HW_STATUS, HARDWARE_OK, ATTR_KEY(SEMCONV_HW_STATE), "ok"},
    {METRIC_HW_STATUS, HARDWARE_DEGRADED, ATTR_KEY(SEMCONV_HW_STATE), "degraded"},
    {METRIC_HW_STATUS, HARDWARE_FAILED, ATTR_KEY(SEMCONV_HW_STATE), "failed"},
};

static void put_known(struct metric_point *point, const struct attr_key *key, const char *text)
{
    if (*text)
        put_text(point, key, text);
}

/* A sensor is a component of its own, whose parent is the GPU. */
static void put_sensor(struct metrics *m, struct metric_point *point, uint32_t gpu, const char *location)
{
    char *id = m->sensor_ids[gpu][location[0] == 'm'];
    snprintf(id, sizeof m->sensor_ids[0][0], "%s/%s", m->hardware.gpus[gpu].id, location);
    put_text(point, &key_hw_id, id);
    put_known(point, ATTR(SEMCONV_HW_NAME), m->hardware.gpus[gpu].name);
    put_text(point, ATTR(SEMCONV_HW_PARENT), m->hardware.gpus[gpu].id);
}

static void put_gpu(struct metric_point *point, const struct gpu_hardware *gpu)
{
    put_text(point, &key_hw_id, gpu->id);
    put_known(point, ATTR(SEMCONV_HW_NAME), gpu->name);
    put_known(point, ATTR(SEMCONV_HW_MODEL), gpu->name);
    put_text(point, ATTR(SEMCONV_HW_VENDOR), "NVIDIA");
    put_known(point, ATTR(SEMCONV_HW_SERIAL_NUMBER), gpu->serial);
}

static void add_hardware(struct metrics *m, const struct hardware_row *row, uint32_t index)
{
    const struct gpu_hardware *gpu = &m->hardware.gpus[index];
    if (!(gpu->present & 1u << row->field))
        return;
    struct metric_point *point = add_point(m, row->metric);
    if (row->metric == METRIC_HW_TEMPERATURE)
        put_sensor(m, point, index, row->value);
    else
        put_gpu(point, gpu);
    if (row->metric == METRIC_HW_ERRORS || row->metric == METRIC_HW_STATUS)
        put_text(point, ATTR(SEMCONV_HW_TYPE), "gpu");
    if (row->value)
        put_text(point, &row->key, row->value);
    if (metric_table[row->metric].value == METRIC_INT)
        point->i = (uint64_t)gpu->values[row->field];
    else
        point->d = gpu->values[row->field];
}

static void add_gpus(struct metrics *m)
{
    if (!nvml_take(&m->hardware))
        return;
    for (size_t row = 0; row < sizeof hardware_rows / sizeof *hardware_rows; row++)
        for (uint32_t i = 0; i < m->hardware.count; i++)
            add_hardware(m, &hardware_rows[row], i);
}

bool metrics_ask_hardware(const struct correlate *correlate)
{
    char ids[HARDWARE_GPUS_MAX][HARDWARE_ID_BYTES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < DEVICES_MAX && count < HARDWARE_GPUS_MAX; i++) {
        const char *id = correlate_device_id(correlate, i);
        if (strncmp(id, "GPU-", strlen("GPU-")) == 0) /* NVML reports little about a MIG device */
            snprintf(ids[count++], sizeof *ids, "%s", id);
    }
    if (count)
        nvml_ask((const char(*)[HARDWARE_ID_BYTES])ids, count);
    return count > 0;
}

/* Exports. */

void metrics_export(struct metrics *m, struct correlate *correlate, struct outputs *outputs)
{
    if (!m)
        return;
    m->correlate = correlate;
    m->outputs = outputs;
    m->now_ns = clock_now_ns();
    add_figures(m, correlate_live_stats(correlate));
    add_all_sampled(m);
    add_gpus(m);
    add_own(m);
    end_metric(m);
    outputs_send_metrics(outputs);
    correlate_begin_interval(correlate, is_delta(m, METRIC_KERNEL_DURATION));
    m->interval_ns = m->now_ns;
}

void metrics_export_tick(struct metrics *m, struct correlate *correlate, struct outputs *outputs,
                         uint64_t now_ns)
{
    if (!m)
        return;
    sample_devices(correlate_live_stats(correlate));
    /* Early, so that NVML has answered by the next export. */
    if (now_ns + ASK_AHEAD_NS >= m->next_ns && now_ns >= m->next_ask_ns)
        m->next_ask_ns = metrics_ask_hardware(correlate) ? m->next_ns : now_ns + ASK_AGAIN_NS;
    if (now_ns < m->next_ns)
        return;
    m->next_ns = now_ns + m->settings->metrics.interval_ms * NS_PER_MS;
    metrics_export(m, correlate, outputs);
}
