/* The outputs: an encoder and an exporter for each configured exporter. The pipeline thread adds spans. A
 * batch is sent when it is full or old enough. All chunks come from one pool, whose size limits the queues.
 */
#pragma once

#include "base/accounting/counters.h"
#include "base/status.h"
#include "model/metrics/metrics.h"
#include "model/profile.h"
#include "model/settings/settings.h"
#include "model/span.h"

#include <stdbool.h>
#include <stddef.h>

struct outputs;
struct operations;

/* `self_env_folder`: the directory of the export module. The queues share the memory that
 * settings_queue_bytes() leaves. NO_MEMORY, UNAVAILABLE. */
enum status outputs_create(const struct settings *settings, const char *self_env_folder,
                           struct outputs **outputs, struct error *err) MUST_CHECK;

/* Spans in the open batch keep the old resource, and so do later ones in that batch. */
void outputs_set_resource(struct outputs *outputs, uint16_t index, const struct resource *resource);

/* Counts the span if an output cannot take it. */
void outputs_add(struct outputs *outputs, const struct span *span);

/* Adds points of one metric if metrics have an output (settings.metrics). Points that find no room are
 * counted. outputs_send_metrics sends them. */
void outputs_add_metrics(struct outputs *outputs, const struct metric_points *points);
void outputs_send_metrics(struct outputs *outputs);

/* Sends a profile, if it has samples. Samples that find no room are counted. Only with settings.profiles. */
void outputs_send_profile(struct outputs *outputs, const struct profile *profile);

/* Durations of exports; NULL if metrics are off. */
struct operations *outputs_operations(struct outputs *outputs);

/* The state of an output of spans. Only for the thread that adds spans. */
struct output_health {
    uint64_t queued, inflight; /* spans in the queue, and in the current request */
    struct output_fates fates; /* of all others */
};
void outputs_health(struct outputs *outputs, size_t output, struct output_health *health);

/* Sends batches that are as old as schedule_delay. */
void outputs_tick(struct outputs *outputs, uint64_t now_ns);

/* Sends all open batches. Later spans have the resources that were set last. */
void outputs_send(struct outputs *outputs);

/* The number of batches that each output has submitted; any thread. outputs_wait waits until these are
 * delivered or lost, or until `deadline_ns` (TIMEOUT). */
void outputs_sent(struct outputs *outputs, uint64_t sent[OUTPUT_NUMBERS]);
enum status outputs_wait(struct outputs *outputs, const uint64_t sent[OUTPUT_NUMBERS],
                         uint64_t deadline_ns) MUST_CHECK;

/* Until `deadline_ns`, a span waits for room instead of being lost. Only for replays, because a host must
 * not wait. 0: no longer. */
void outputs_set_patience(struct outputs *outputs, uint64_t deadline_ns);

/* The same for a host: until `deadline_ns`, a span waits only while `can_wait` says that rings and buffers
 * have room, and while its exporter makes progress. NULL: rings and buffers do not matter. */
void outputs_set_pause(struct outputs *outputs, uint64_t deadline_ns, bool (*can_wait)(void));

/* The memory of all queues, and the part that is free. */
void outputs_memory(struct outputs *outputs, uint64_t *bytes, uint64_t *free_bytes);

/* Whether a replay may continue. Any thread. */
bool outputs_have_room(struct outputs *outputs);

/* Sends everything, waits for delivery until `deadline_ns`, ends the threads, and frees what is no longer in
 * use. */
void outputs_destroy(struct outputs *outputs, uint64_t deadline_ns);

/* The same, and returns what could not be freed. */
struct outputs_left {
    bool has_senders; /* senders still run */
    size_t bytes;     /* of queues still in use */
};
void outputs_end(struct outputs *outputs, uint64_t deadline_ns, struct outputs_left *left);
