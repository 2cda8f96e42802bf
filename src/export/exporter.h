/* An exporter: a bounded queue of finished requests, and one thread that delivers them to a collector, a file
 * or standard output. It starts in exporter_create and ends in exporter_destroy; all calls but those two may
 * come from any thread of ours. What isn't delivered is counted by its reason (base/counters.h). */
#ifndef CUSPAN_EXPORT_EXPORTER_H
#define CUSPAN_EXPORT_EXPORTER_H

#include "base/accounting/counters.h"
#include "base/status.h"
#include "model/batch.h"
#include "model/settings.h"

#include <stdbool.h>
#include <stdint.h>

#define EXPORT_MODULE_NAME "libcuspan-export.so"

struct exporter;
struct operations;

struct exporter_environment {
    const char *module_path;       /* of EXPORT_MODULE_NAME, in the folder of libcuspan.so; copied */
    const char *user_agent_prefix; /* goes before our own User-Agent, or NULL; copied */
    uint32_t retry_initial_ms;     /* 0: the default. Tests are in a hurry */
    unsigned output;               /* its number, below OUTPUT_NUMBERS, for counter_output_get */
    struct operations *operations; /* where exports are noted, which outlives the exporter; NULL: nowhere */
};

/* Starts the thread. Everything needed is copied out of `settings`. What can be wrong with an endpoint shows
 * when the thread tries it, in one line: fails only with NO_MEMORY, or UNAVAILABLE when no thread could be
 * had. */
enum status exporter_create(const struct output_settings *settings,
                            const struct exporter_environment *environment,
                            struct exporter **exporter) MUST_CHECK;

/* Takes ownership of the batch in any case. Over queue_spans_max it is dropped and counted; an empty batch is
 * not sent. */
void exporter_submit(struct exporter *exporter, struct batch *batch);

/* Why deliveries failed while the process was ending: said then by whoever says what was lost, in the same
 * line. NULL: no such failure. Static storage. */
const char *exporter_final_error(void);

/* Room left in the queue, in spans. */
uint32_t exporter_room(struct exporter *exporter);

/* Whether it can be expected to make room soon: there are batches, and it has begun or ended one within the
 * last `within_ns`. With a collector that is away, or slow, it isn't. */
bool exporter_is_moving(struct exporter *exporter, uint64_t now_ns, uint64_t within_ns);

/* Spans that are queued or being sent, and in `fates` what became of the others, at the same moment. */
uint64_t exporter_unfinished(struct exporter *exporter, struct output_fates *fates);

/* Of them, those that are being sent. */
uint64_t exporter_inflight(struct exporter *exporter);

/* How many batches have been submitted so far. */
uint64_t exporter_submitted(struct exporter *exporter);

/* Waits until the first `submitted` of them are delivered or given up (OK), or until the time `deadline_ns`
 * of clock_monotonic_ns (TIMEOUT). */
enum status exporter_wait(struct exporter *exporter, uint64_t submitted, uint64_t deadline_ns) MUST_CHECK;

/* Waits in the same way for all that was submitted before. */
enum status exporter_flush(struct exporter *exporter, uint64_t deadline_ns) MUST_CHECK;

/* Delivers what is queued until `deadline_ns`, then aborts the request under way and counts the rest as lost;
 * stops the thread and frees everything. NULL is fine. Returns true then. A thread that can't be stopped
 * within 50 ms of the deadline (in a resolver, on a pipe that nobody reads) is left where it is, and with it
 * its memory and its batch: returns false, and the chunk pool of its batches must stay. */
bool exporter_destroy(struct exporter *exporter, uint64_t deadline_ns);

/* The same for several, some of which may be NULL, with one deadline for all. */
bool exporters_destroy(struct exporter *const *exporters, size_t count, uint64_t deadline_ns);

#endif
