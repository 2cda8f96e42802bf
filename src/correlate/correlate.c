#include "correlate/correlate.h"

#include "base/clock.h"
#include "base/counters.h"
#include "correlate/state.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES       (4 * 1024 * 1024)
#define WAITING_BYTES     (2 * 1024 * 1024)
#define SWEEP_INTERVAL_NS (10 * NS_PER_MS)

static const struct attr_key key_thread_id = ATTR_KEY("thread.id");
static const struct attr_key key_thread_name = ATTR_KEY("thread.name");
static const struct attr_key key_context_name = ATTR_KEY("cuda.context.name");

/* --- life
 * ----------------------------------------------------------------------------------------------------------
 */

enum status correlate_create(const struct correlate_options *options, struct correlate **correlate)
{
    const struct settings *settings = options->settings;
    struct correlate *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->settings = settings;
    made->sink = options->sink;
    made->expects_calls = options->expects_calls;
    made->expects_graphs = options->expects_graphs;
    attributes_init(&made->plan, settings->detail);
    struct session_options session = {.name = options->program,
                                      .spans_max = settings->session.spans_max,
                                      .age_max_ns = settings->session.age_max_ms * NS_PER_MS,
                                      .has_parent = options->parent != NULL,
                                      .sampler = {.kind = settings->sampler,
                                                  .ratio = settings->sampler_ratio,
                                                  .parent_based = settings->sampler_parent_based,
                                                  .traces_per_second = settings->sampling.traces_per_second}};
    if (options->parent)
        session.parent = *options->parent;
    if (!session_init(&made->session, &session) ||
        pending_create(settings->correlation.pending_max, &made->pending) != STATUS_OK ||
        waiting_create(WAITING_BYTES, &made->waiting) != STATUS_OK ||
        names_create(NAMES_BYTES, &made->names) != STATUS_OK || workers_create(&made->workers) != STATUS_OK ||
        ranges_create(&made->ranges) != STATUS_OK || states_create(&made->states) != STATUS_OK ||
        objects_create(&made->objects) != STATUS_OK ||
        graphs_create(settings->detail != DETAIL_DEFAULT, &made->graphs) != STATUS_OK) {
        correlate_destroy(made);
        return STATUS_NO_MEMORY;
    }
    made->now_ns = clock_monotonic_ns();
    *correlate = made;
    return STATUS_OK;
}

void correlate_destroy(struct correlate *correlate)
{
    if (!correlate)
        return;
    pending_destroy(correlate->pending);
    waiting_destroy(correlate->waiting);
    names_destroy(correlate->names);
    workers_destroy(correlate->workers);
    ranges_destroy(correlate->ranges);
    states_destroy(correlate->states);
    objects_destroy(correlate->objects);
    devices_deinit(&correlate->devices);
    graphs_destroy(correlate->graphs);
    free(correlate);
}

/* --- sessions
 * ------------------------------------------------------------------------------------------------------ */

void correlate_emit(struct correlate *c)
{
    counter_add(COUNTER_spans_created, 1);
    c->sink.on_span(c->sink.context, &c->span);
}

static void close_session(struct correlate *c, const char *reason)
{
    session_close(&c->session, reason, &c->span, c->links);
    if (c->session.is_sampled)
        correlate_emit(c);
}

/* The parent of work that belongs to no request. Other parents of a call go before it: ranges and attached
 * contexts. */
struct session *correlate_session_at(struct correlate *c, uint64_t time_ns)
{
    if (session_is_due(&c->session, time_ns))
        close_session(c, c->session.spans >= c->session.options.spans_max ? "spans" : "age");
    if (!c->session.is_open) {
        session_open(&c->session, time_ns);
        if (c->sink.on_session)
            c->sink.on_session(c->sink.context, c->session.trace_id, c->session.span_id, c->session.flags);
    }
    return &c->session;
}

/* --- spans
 * ---------------------------------------------------------------------------------------------------------
 */

void correlate_begin_span(struct span *span, uint64_t start_ns, uint64_t end_ns)
{
    memset(span, 0, offsetof(struct span, attrs));
    span->kind = SPAN_KIND_INTERNAL;
    span->start_ns = start_ns;
    span->end_ns = end_ns;
}

void correlate_put_below(const struct correlate *c, struct span *span, const uint8_t *trace_id,
                         const uint8_t *parent_span_id, uint32_t flags, const char *trace_state)
{
    memcpy(span->trace_id, trace_id, 16);
    memcpy(span->parent_span_id, parent_span_id, 8);
    span->flags = flags;
    span->trace_state = states_valid(c->states, trace_id, trace_state);
}

void correlate_put_below_parent(const struct correlate *c, struct span *span, const struct parent *parent)
{
    correlate_put_below(c, span, parent->trace_id, parent->span_id, parent->flags, parent->trace_state);
}

void correlate_put_thread(const struct correlate *c, struct span *span, const struct thread_info *thread)
{
    const char *named = objects_has(c->objects, NAMED_THREAD)
                            ? objects_text(c->objects, objects_find(c->objects, NAMED_THREAD, thread->tid))
                            : NULL;
    span_attr_int(span, &key_thread_id, (int64_t)thread->tid);
    if (named || *thread->name)
        span_attr_string(span, &key_thread_name, named ? named : thread->name);
}

void correlate_put_context_name(const struct correlate *c, struct span *span, uint32_t context_id)
{
    if (!objects_has(c->objects, NAMED_CONTEXT))
        return;
    uint64_t handle = devices_handle(&c->devices, context_id);
    const char *name = objects_text(c->objects, objects_find(c->objects, NAMED_CONTEXT, handle));
    if (name)
        span_attr_string(span, &key_context_name, name);
}

/* --- between rounds
 * ------------------------------------------------------------------------------------------------ */

void correlate_tick(struct correlate *c, uint64_t now_ns)
{
    c->now_ns = now_ns;
    if (now_ns < c->next_sweep_ns)
        return;
    c->next_sweep_ns = now_ns + SWEEP_INTERVAL_NS;
    activity_spans_sweep(c);
    if (c->session.is_open && session_is_due(&c->session, clock_now_ns()))
        close_session(c, c->session.spans >= c->session.options.spans_max ? "spans" : "age");
}

uint32_t correlate_waiting(const struct correlate *c)
{
    return pending_waiting(c->pending);
}

void correlate_end_session(struct correlate *c, const char *reason)
{
    if (c->session.is_open)
        close_session(c, reason);
}

void correlate_finish(struct correlate *c)
{
    activity_spans_finish(c);
    pending_finish(c->pending);
    range_spans_finish(c);
    for (unsigned i = 0; i < RESOURCES_HELD; i++)
        if (c->held[i].tid && c->session.is_open)
            session_add_event(&c->session, &c->held[i].event);
    if (c->session.is_open)
        close_session(c, "exit");
}

uint32_t correlate_traces(const struct correlate *c, uint8_t (*traces)[16], uint32_t max, uint32_t *total)
{
    uint32_t kept = c->session.number < SESSION_TRACES_KEPT ? c->session.number : SESSION_TRACES_KEPT;
    kept = kept < max ? kept : max;
    memcpy(traces, c->session.traces, kept * sizeof *traces);
    *total = c->session.number;
    return kept;
}
