#include "agent/core/outputs/outputs.h"

#include "agent/core/outputs/log_output.h"
#include "base/buffers/chunk.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/encode/encoder.h"
#include "agent/encode/profile_encoder.h"
#include "agent/export/exporter.h"
#include "agent/export/delivery/operations.h"
#include "model/metrics/views.h"

#include <stdio.h>
#include <stdlib.h>

/* With metrics or profiles, spans leave one in METRICS_SHARE chunks of the queues free. Otherwise a program
 * with more spans than can be delivered would have no metrics that show it. */
#define METRICS_SHARE 8

/* Batches that share the chunks for spans: one is sent, one waits, one is filled. A single batch in all of
 * them would block the next span until it is compressed. */
#define BATCHES_IN_QUEUE 3

/* An exporter that has worked on a batch for this long is expected to free room soon: compressing takes some
 * ms, and a collector takes time to answer. Waiting longer does not help in a burst. */
#define MOVING_NS (100 * NS_PER_MS)

/* After rings have filled up, spans do not wait for this long. */
#define HURRY_NS (1 * NS_PER_MS)

struct destination {
    unsigned number; /* index in the counters */
    struct encoder *encoder;
    struct exporter *exporter;
    uint64_t delay_ns;
    uint32_t room_wanted; /* in spans, before a replay continues */
    uint64_t oldest_ns;   /* time of the first span in the open batch; 0: none */
};

struct outputs {
    struct chunk_pool *pool;
    uint64_t now_ns;
    uint64_t patience_ns; /* until then a span waits for room; 0: not at all */
    uint64_t pause_ns;    /* until then it waits if can_wait allows */
    bool (*can_wait)(void);
    uint64_t hurry_ns; /* until then it does not, because can_wait returned false */
    size_t count;
    struct destination
        items[OUTPUT_NUMBERS]; /* those that are off are zeroed; that of profiles has no encoder */
    struct profile_encoder *profile_encoder; /* NULL: profiles are off */
    struct operations *operations;           /* NULL if metrics are off */
};

static uint64_t batch_bytes_max(size_t chunks, size_t outputs)
{
    uint64_t share = (uint64_t)chunks * CHUNK_BYTES / BATCHES_IN_QUEUE / (outputs ? outputs : 1);
    if (share < BATCH_BYTES_MIN)
        return BATCH_BYTES_MIN;
    return share < BATCH_BYTES_MAX ? share : BATCH_BYTES_MAX;
}

static enum status create_one(const struct settings *settings, const struct output_settings *wanted,
                              const struct output_environment *environment, struct chunk_pool *pool,
                              struct destination *output)
{
    const struct exporter_settings *exporter = &wanted->exporter;
    bool is_metrics = wanted->signal == SIGNAL_METRICS;
    bool is_json = exporter->kind == EXPORTER_FILE || exporter->kind == EXPORTER_CONSOLE ||
                   (exporter->kind == EXPORTER_OTLP_HTTP && exporter->encoding == ENCODING_JSON);
    bool shares = settings->metrics.is_on || settings->profiles.enabled;
    size_t reserve = shares && !is_metrics ? chunk_pool_size(pool) / METRICS_SHARE : 0;
    struct encoder_options options = {.has_metrics = is_metrics,
                                      .chunks_left_free = (uint32_t)reserve,
                                      .format = is_json ? BATCH_JSON : BATCH_PROTOBUF,
                                      .pool = pool,
                                      .scope_name = METER_NAME,
                                      .scope_version = CUSPAN_VERSION,
                                      .schema_url = ENCODER_SCHEMA_URL,
                                      .value_length_limit = settings->attribute_value_length_limit,
                                      .attribute_count_limit = settings->attribute_count_limit,
                                      .event_count_limit = settings->event_count_limit,
                                      .link_count_limit = settings->link_count_limit,
                                      .batch_spans_max = wanted->batch_spans_max,
                                      .batch_bytes_max = BATCH_BYTES_MAX};
    if (!is_metrics)
        options.batch_bytes_max = batch_bytes_max(chunk_pool_size(pool) - reserve, settings->output_count);
    struct output_settings spooling = *wanted;
    spooling.spool_directory = settings->spool.directory;
    spooling.spool_bytes_max = settings->spool.bytes_max;
    enum status status = encoder_create(&options, &output->encoder);
    if (status == STATUS_OK)
        status = exporter_create(&spooling, environment, &output->exporter);
    output->number = environment->output;
    output->delay_ns = wanted->schedule_delay_ms * NS_PER_MS;
    output->room_wanted = wanted->queue_spans_max / 2;
    return status;
}

/* Profiles are not spooled: an older one is of little use, and the next one comes soon. */
static enum status create_profiles(const struct settings *settings,
                                   const struct output_environment *environment, struct outputs *outputs)
{
    struct output_environment own = *environment;
    own.output = PROFILES_OUTPUT;
    own.operations = NULL; /* OpenTelemetry has no name for an exporter of profiles */
    enum status status =
        profile_encoder_create(outputs->pool, METER_NAME, CUSPAN_VERSION, &outputs->profile_encoder);
    if (status == STATUS_OK)
        status = exporter_create(&settings->profiles.output, &own, &outputs->items[PROFILES_OUTPUT].exporter);
    return status;
}

enum status outputs_create(const struct settings *settings, const char *self_env_folder,
                           struct outputs **outputs, struct error *err)
{
    char module_path[600];
    snprintf(module_path, sizeof module_path, "%s/%s", self_env_folder, EXPORT_MODULE_NAME);
    struct output_environment environment = {.module_path = module_path};
    struct outputs *made = calloc(1, sizeof *made);
    if (!made)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the outputs");
    enum status status =
        chunk_pool_create(settings_queue_bytes(settings) / sizeof(struct chunk), &made->pool);
    if (status == STATUS_OK && settings->metrics.is_on)
        status = operations_create(&settings->metrics.streams->of[METRIC_OPERATION_DURATION],
                                   settings->metrics.exemplar_filter, &made->operations);
    environment.operations = made->operations;
    for (size_t i = 0; i < settings->output_count && status == STATUS_OK; i++) {
        made->count = i + 1;
        environment.output = (unsigned)i;
        status = create_one(settings, &settings->outputs[i], &environment, made->pool, &made->items[i]);
    }
    environment.output = METRICS_OUTPUT;
    if (status == STATUS_OK && settings->metrics.is_on)
        status = create_one(settings, &settings->metrics.output, &environment, made->pool,
                            &made->items[METRICS_OUTPUT]);
    if (status == STATUS_OK && settings->profiles.enabled)
        status = create_profiles(settings, &environment, made);
    if (status != STATUS_OK) {
        outputs_destroy(made, 0);
        return error_set(err, status, "cannot start the outputs: %s", status_text(status));
    }
    log_output_open(settings, module_path);
    made->now_ns = clock_monotonic_ns();
    *outputs = made;
    return STATUS_OK;
}

void outputs_set_resource(struct outputs *outputs, uint16_t index, const struct resource *resource)
{
    struct encoder *metrics = outputs->items[METRICS_OUTPUT].encoder;
    if (metrics && index == RESOURCE_PROCESS && encoder_set_resource(metrics, index, resource) != STATUS_OK)
        log_warn("no memory for the resource of metrics; they are sent without it");
    if (outputs->profile_encoder && index == RESOURCE_PROCESS)
        profile_encoder_set_resource(outputs->profile_encoder, resource);
    if (index == RESOURCE_PROCESS)
        log_output_set_resource(resource);
    for (size_t i = 0; i < outputs->count; i++) {
        enum status status = encoder_set_resource(outputs->items[i].encoder, index, resource);
        if (status != STATUS_OK)
            log_warn("the resource of %s is missing in spans: %s", index ? "a device" : "the process",
                     status_text(status));
    }
}

static void send_batch(struct destination *output)
{
    struct batch *batch = encoder_seal(output->encoder);
    output->oldest_ns = 0;
    if (batch)
        exporter_submit(output->exporter, batch);
}

/* Whether a span may wait for this output a little longer. */
static bool is_patient(struct outputs *outputs, const struct destination *output)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns < outputs->patience_ns)
        return true;
    if (now_ns >= outputs->pause_ns || now_ns < outputs->hurry_ns ||
        !exporter_is_moving(output->exporter, now_ns, MOVING_NS))
        return false;
    bool can_wait = !outputs->can_wait || outputs->can_wait();
    if (!can_wait)
        outputs->hurry_ns = now_ns + HURRY_NS;
    return can_wait;
}

static void pause_shortly(void)
{
    struct timespec pause = {0, (long)NS_PER_MS / 4};
    nanosleep(&pause, NULL);
}

void outputs_set_patience(struct outputs *outputs, uint64_t deadline_ns)
{
    outputs->patience_ns = deadline_ns;
}

void outputs_set_pause(struct outputs *outputs, uint64_t deadline_ns, bool (*can_wait)(void))
{
    outputs->pause_ns = deadline_ns;
    outputs->can_wait = can_wait;
}

static void add_to(struct outputs *outputs, struct destination *output, const struct span *span)
{
    enum status status = encoder_add(output->encoder, span);
    if (status == STATUS_FULL || status == STATUS_NO_MEMORY) {
        /* Full: start the next batch. No free chunk: sending may free some. */
        while (exporter_state(output->exporter).room < encoder_span_count(output->encoder) &&
               is_patient(outputs, output))
            pause_shortly();
        send_batch(output);
        status = encoder_add(output->encoder, span);
    }
    while (status == STATUS_NO_MEMORY && is_patient(outputs, output)) {
        pause_shortly();
        status = encoder_add(output->encoder, span);
    }
    if (status == STATUS_OK && !output->oldest_ns)
        output->oldest_ns = outputs->now_ns;
    if (status == STATUS_NO_MEMORY || status == STATUS_FULL) {
        /* All chunks are in use: no exporter delivers as fast as spans arrive. */
        counter_output_lost(output->number, COUNTER_lost_queue_full, 1);
        log_once(log_warn, "spans arrive faster than they are delivered, and some are lost; raise "
                           "distribution.cuspan.memory_bytes_max");
    } else if (status != STATUS_OK) {
        counter_output_lost(output->number, COUNTER_lost_too_large, 1);
    }
}

void outputs_add(struct outputs *outputs, const struct span *span)
{
    for (size_t i = 0; i < outputs->count; i++)
        add_to(outputs, &outputs->items[i], span);
}

/* Metrics. */

void outputs_send_metrics(struct outputs *outputs)
{
    if (outputs->items[METRICS_OUTPUT].encoder)
        send_batch(&outputs->items[METRICS_OUTPUT]);
}

void outputs_add_metrics(struct outputs *outputs, const struct metric_points *points)
{
    uint32_t added = 0;
    struct destination *output = &outputs->items[METRICS_OUTPUT];
    struct metric_points left = *points;
    counter_add_alone(COUNTER_points_made, points->count);
    enum status status = encoder_add_metrics(output->encoder, &left, &added);
    if (status == STATUS_FULL || status == STATUS_NO_MEMORY) {
        left.points += added;
        left.count -= added;
        send_batch(output);
        status = encoder_add_metrics(output->encoder, &left, &added);
    }
    if (status != STATUS_OK)
        counter_output_lost(METRICS_OUTPUT, COUNTER_lost_points, left.count - added);
}

void outputs_send_profile(struct outputs *outputs, const struct profile *profile)
{
    uint32_t samples = 0;
    for (enum profile_kind kind = 0; kind < PROFILE_KINDS; kind++)
        samples += profile->samples_of[kind];
    if (!samples)
        return;
    counter_add_alone(COUNTER_profile_samples_made, samples);
    struct batch *batch = profile_encoder_make(outputs->profile_encoder, profile);
    if (batch)
        exporter_submit(outputs->items[PROFILES_OUTPUT].exporter, batch);
    else
        counter_output_lost(PROFILES_OUTPUT, COUNTER_lost_profile_samples, samples);
}

struct operations *outputs_operations(struct outputs *outputs)
{
    return outputs->operations;
}

void outputs_health(struct outputs *outputs, size_t output, struct output_health *health)
{
    struct destination *item = &outputs->items[output];
    struct exporter_state state = exporter_state(item->exporter);
    health->fates = state.fates;
    health->inflight = state.inflight;
    health->queued = encoder_span_count(item->encoder) + state.queued;
}

/* Sending and shutdown. */

void outputs_tick(struct outputs *outputs, uint64_t now_ns)
{
    outputs->now_ns = now_ns;
    for (size_t i = 0; i < outputs->count; i++) {
        struct destination *output = &outputs->items[i];
        if (output->oldest_ns && now_ns >= output->oldest_ns + output->delay_ns)
            send_batch(output);
    }
}

void outputs_send(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++)
        if (outputs->items[i].oldest_ns)
            send_batch(&outputs->items[i]);
}

void outputs_sent(struct outputs *outputs, uint64_t sent[OUTPUT_NUMBERS])
{
    for (size_t i = 0; i < OUTPUT_NUMBERS; i++)
        sent[i] = outputs->items[i].exporter ? exporter_state(outputs->items[i].exporter).submitted : 0;
}

enum status outputs_wait(struct outputs *outputs, const uint64_t sent[OUTPUT_NUMBERS], uint64_t deadline_ns)
{
    for (size_t i = 0; i < OUTPUT_NUMBERS; i++)
        if (outputs->items[i].exporter &&
            exporter_wait(outputs->items[i].exporter, sent[i], deadline_ns) != STATUS_OK)
            return STATUS_TIMEOUT;
    return STATUS_OK;
}

void outputs_memory(struct outputs *outputs, uint64_t *bytes, uint64_t *free_bytes)
{
    *bytes = chunk_pool_size(outputs->pool) * sizeof(struct chunk);
    *free_bytes = chunk_pool_free(outputs->pool) * sizeof(struct chunk);
}

/* If chunks are scarce, batches that were submitted must be delivered first. An open batch does not count:
 * it may hold half of the chunks, until its schedule_delay has passed. */
bool outputs_have_room(struct outputs *outputs)
{
    bool is_scarce = chunk_pool_free(outputs->pool) < chunk_pool_size(outputs->pool) / 2;
    for (size_t i = 0; i < outputs->count; i++) {
        struct exporter_state state = exporter_state(outputs->items[i].exporter);
        if (state.room < outputs->items[i].room_wanted || (is_scarce && state.queued + state.inflight > 0))
            return false;
    }
    return true;
}

void outputs_end(struct outputs *outputs, uint64_t deadline_ns, struct outputs_left *left)
{
    struct exporter *exporters[OUTPUT_NUMBERS + LOG_EXPORTERS_MAX];
    *left = (struct outputs_left){0};
    if (!outputs)
        return;
    for (size_t i = 0; i < OUTPUT_NUMBERS; i++) {
        exporters[i] = outputs->items[i].exporter;
        if (outputs->items[i].encoder && exporters[i])
            send_batch(&outputs->items[i]);
    }
    log_output_close(&exporters[OUTPUT_NUMBERS]);
    bool all_ended = exporters_destroy(exporters, OUTPUT_NUMBERS + LOG_EXPORTERS_MAX, deadline_ns);
    for (size_t i = 0; i < OUTPUT_NUMBERS; i++)
        encoder_destroy(outputs->items[i].encoder);
    profile_encoder_destroy(outputs->profile_encoder);
    left->has_senders = !all_ended;
    if (outputs->pool)
        left->bytes =
            (chunk_pool_size(outputs->pool) - chunk_pool_free(outputs->pool)) * sizeof(struct chunk);
    if (all_ended) {
        log_output_free();
        chunk_pool_destroy(outputs->pool);
        operations_destroy(outputs->operations);
    }
    free(outputs);
}

void outputs_destroy(struct outputs *outputs, uint64_t deadline_ns)
{
    struct outputs_left left;
    outputs_end(outputs, deadline_ns, &left);
}
