/* The outputs: for each configured exporter an encoder before it. Spans go in on the pipeline thread; batches
 * leave when they are full or have waited long enough. All chunks come from one pool, whose size bounds what
 * can queue up. */
#ifndef CUSPAN_AGENT_OUTPUTS_H
#define CUSPAN_AGENT_OUTPUTS_H

#include "base/accounting/counters.h"
#include "base/status.h"
#include "model/metrics/metrics.h"
#include "model/settings.h"
#include "model/span.h"

#include <stdbool.h>
#include <stddef.h>

struct outputs;
struct operations;

/* `self_env_folder`: where the export module lies. The queues share what
 * settings_queue_bytes leaves them. NO_MEMORY, UNAVAILABLE. */
enum status outputs_create(const struct settings *settings, const char *self_env_folder,
                           struct outputs **outputs, struct error *err) MUST_CHECK;

/* Spans that have been added keep the resource as it was, and so do those that follow in their batch. */
void outputs_set_resource(struct outputs *outputs, uint16_t index, const struct resource *resource);

/* A span that no output can take is counted. */
void outputs_add(struct outputs *outputs, const struct span *span);

/* Points of one metric, where there is an output for them (settings.metrics); those that find no room are
 * counted. They leave with outputs_send_metrics. */
void outputs_add_metrics(struct outputs *outputs, const struct metric_points *points);
void outputs_send_metrics(struct outputs *outputs);

/* How long exports took; NULL where no metrics are wanted. */
struct operations *outputs_operations(struct outputs *outputs);

/* How an output of spans stands. */
struct output_health {
    uint64_t queued, inflight; /* spans that wait, and those in the request under way */
    struct output_fates fates;
};
void outputs_health(struct outputs *outputs, size_t output, struct output_health *health);

/* Sends what has waited for its schedule_delay. */
void outputs_tick(struct outputs *outputs, uint64_t now_ns);

/* Sends what there is now, whatever its age: what follows has the resources that were set last. */
void outputs_send(struct outputs *outputs);

/* How many batches each has sent so far; any thread. And waiting until those are delivered or given up, or
 * until `deadline_ns` (TIMEOUT). */
void outputs_sent(struct outputs *outputs, uint64_t sent[OUTPUT_NUMBERS]);
enum status outputs_wait(struct outputs *outputs, const uint64_t sent[OUTPUT_NUMBERS],
                         uint64_t deadline_ns) MUST_CHECK;

/* From now on a span waits for room, until `deadline_ns` at most, in place of being lost: a replay can be
 * kept waiting where a host can't. 0: no longer. */
void outputs_set_patience(struct outputs *outputs, uint64_t deadline_ns);

/* The same for a host, which nothing may hold up: until then a span waits only while `can_wait` says that
 * what is captured meanwhile has room, and while its exporter gets on. NULL: whatever is captured. */
void outputs_set_pause(struct outputs *outputs, uint64_t deadline_ns, bool (*can_wait)(void));

/* Spans of one output that have met no fate yet, and in `fates` what became of the others. The thread that
 * adds spans. */
uint64_t outputs_on_way(struct outputs *outputs, size_t output, struct output_fates *fates);

/* The memory of all queues, and how much of it is free. */
void outputs_memory(struct outputs *outputs, uint64_t *bytes, uint64_t *free_bytes);

/* Whether there is room for a replay to go on. Any thread. */
bool outputs_have_room(struct outputs *outputs);

/* Sends everything, waits for it until `deadline_ns`, ends the threads. Frees all that can be freed. */
void outputs_destroy(struct outputs *outputs, uint64_t deadline_ns);

/* The same, and tells what could not be freed. */
struct outputs_left {
    bool has_senders; /* that are still at work */
    size_t bytes;     /* of the queues */
};
void outputs_end(struct outputs *outputs, uint64_t deadline_ns, struct outputs_left *left);

#endif
