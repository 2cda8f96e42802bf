/* Correlate: from records to spans. Joins what the host asked (calls) with what the GPU did (activity) by
 * correlation ID, whichever comes first; gives each span its trace and parent; keeps the sessions. Used by
 * one thread.
 *
 * A GPU record whose call isn't known yet waits for it in a bounded queue; then it hangs below the session,
 * marked `cuda.orphan` and counted. */
#ifndef CUSPAN_CORRELATE_CORRELATE_H
#define CUSPAN_CORRELATE_CORRELATE_H

#include "base/trace_context.h"
#include "model/metrics/live_stats.h"
#include "model/metrics/tracing_overhead.h"
#include "model/record.h"
#include "model/settings.h"
#include "model/span.h"

struct correlate_sink {
    void *context;
    /* A finished span; valid during the call. */
    void (*on_span)(void *context, const struct span *span);
    /* What is known of a device, before or after its first span; `index` is RESOURCE_DEVICE(...). Valid
     * during the call. */
    void (*on_device)(void *context, uint16_t index, const struct resource *resource);
    /* A session has begun: the context of threads that have none. NULL: nobody asks. */
    void (*on_session)(void *context, const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t flags);
};

struct correlate_options {
    const struct settings *settings;    /* outlives it */
    const char *program;                /* names the session span; outlives it */
    const struct trace_context *parent; /* TRACEPARENT, or NULL; copied */
    bool expects_calls;                 /* every GPU record should find its call; else none is waited for */
    bool expects_graphs;                /* every graph launch should have its record; else none is missed */
    bool (*slept_at)(
        uint64_t time_ns); /* GPU work of then may be without a call, and isn't wanted; NULL: never */
    void (*take_own)(struct agent_overhead *); /* what cuspan itself takes; NULL: no session says it */
    bool expects_devices; /* each device is described; else its work doesn't wait for that */
    struct correlate_sink sink;
};

struct correlate;

enum status correlate_create(const struct correlate_options *options,
                             struct correlate **correlate) MUST_CHECK;
void correlate_destroy(struct correlate *correlate);

/* The next call that comes was made there (code.stacktrace), `text` holds until then; "": it isn't known. */
void correlate_stack(struct correlate *correlate, const char *text);
void correlate_call(struct correlate *correlate, const struct thread_info *thread,
                    const struct call_record *call);
/* One that made a graph, or changed one, while capture slept: nothing but the graph is noted. */
void correlate_call_asleep(struct correlate *correlate, const struct thread_info *thread,
                           const struct call_record *call);
void correlate_resource(struct correlate *correlate, const struct thread_info *thread,
                        const struct resource_record *resource);
/* Contexts, ranges and marks of a thread come between its calls, in the order in which they happened. */
void correlate_context(struct correlate *correlate, const struct thread_info *thread,
                       const struct context_record *attached);
void correlate_range(struct correlate *correlate, const struct thread_info *thread,
                     const struct range_record *range);
void correlate_name(struct correlate *correlate, const struct name_record *name);
/* Returns how many launches that were counted wait for their kernels' records now. */
void correlate_gpu_counters(struct correlate *correlate, const struct gpu_counters_record *counters);
void correlate_activity(struct correlate *correlate, const struct activity_record *activity);

/* How many calls wait for their GPU records. */
uint32_t correlate_waiting(const struct correlate *correlate);

/* Records and spans that have met no fate yet: they wait for a call, a device, an end. */
uint64_t correlate_held(const struct correlate *correlate);

/* Between rounds: lets waiting records find their calls or gives them up, and cuts a session that is due. */
void correlate_tick(struct correlate *correlate, uint64_t now_monotonic_ns);

/* What waits looks at once whether it still has to. */
void correlate_settle(struct correlate *correlate, uint64_t now_monotonic_ns);

/* CUPTI's finished records should be asked for now: a device has work of which nothing else is known yet, or
 * many summaries wait for theirs. */
bool correlate_wants_records(struct correlate *correlate);

/* Ends the session that is open, with `reason`; the next begins with the next work. What still waits stays.
 */
void correlate_end_session(struct correlate *correlate, const char *reason);

/* At the end: nothing waits any longer, and the session's span leaves. */
void correlate_finish(struct correlate *correlate);

/* What the program has done so far, for who looks. It is counted from the first look on, and for 10 s after
 * the last, unless metrics have it counted always. */
void correlate_look(struct correlate *correlate, uint64_t now_monotonic_ns, struct live_stats_view *view);

/* The same for metrics, complete; valid until the next record. An interval of metrics begins: exemplars are
 * of one, and where they are delta histograms are, too. */
struct live_stats *correlate_figures(struct correlate *correlate);
void correlate_begin_interval(struct correlate *correlate, bool is_delta);
/* hw.id of a device below DEVICES_MAX; "" where unknown. */
const char *correlate_device_id(const struct correlate *correlate, uint32_t device);

/* The traces so far, for the report: how many, and the first of them. Returns how many were written to
 * `traces`. */
uint32_t correlate_traces(const struct correlate *correlate, uint8_t (*traces)[16], uint32_t max,
                          uint32_t *total);

#endif
