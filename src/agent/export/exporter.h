/* An exporter: a bounded queue of finished requests and one thread that delivers them to an output. The
 * thread starts in exporter_create and ends in exporters_destroy; any agent thread may call the other
 * functions. Spans that are not delivered are counted by reason (base/accounting/counters.h). */
#pragma once

#include "base/accounting/counters.h"
#include "base/status.h"
#include "agent/export/delivery/output.h"
#include "model/batch.h"
#include "model/settings/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct exporter;

/* Copies what it needs of `settings` and `environment`. Returns NO_MEMORY, or UNAVAILABLE if no thread can be
 * started. A bad endpoint is not detected here: the thread logs one line when it first uses it. */
enum status exporter_create(const struct output_settings *settings,
                            const struct output_environment *environment,
                            struct exporter **exporter) MUST_CHECK;

/* Always takes ownership of the batch. Drops and counts it if the queue would exceed queue_spans_max. An
 * empty batch is not sent. */
void exporter_submit(struct exporter *exporter, struct batch *batch);

/* Whether the queue is likely to have space soon: it holds batches, and the thread started or finished one
 * within the last `within_ns`. False if the collector is slow or unreachable. */
bool exporter_is_moving(struct exporter *exporter, uint64_t now_ns, uint64_t within_ns);

/* All as of the same moment. */
struct exporter_state {
    uint64_t submitted;        /* batches so far */
    uint32_t room;             /* in the queue, in spans */
    uint64_t queued, inflight; /* spans in the queue, and those being sent */
    struct output_fates fates; /* of all other spans */
};
struct exporter_state exporter_state(struct exporter *exporter);

/* Waits until the first `submitted` batches are delivered or lost (OK), or until `deadline_ns` of
 * clock_monotonic_ns (TIMEOUT). */
enum status exporter_wait(struct exporter *exporter, uint64_t submitted, uint64_t deadline_ns) MUST_CHECK;

/* Delivers the queues until `deadline_ns`, then aborts the current requests, counts the rest as lost, stops
 * the threads and frees everything. Some exporters may be NULL. Returns true.
 * A thread that does not stop within 50 ms of the deadline (blocked in a resolver, or on a pipe without a
 * reader) is abandoned with its memory and its batch. Then it returns false, and the batches' chunk pool must
 * not be freed. */
bool exporters_destroy(struct exporter *const *exporters, size_t count, uint64_t deadline_ns);
