#include "correlate/correlate.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "correlate/state.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES       (3 * 1024 * 1024) /* and the table of names.c */
#define WAITING_BYTES     (2 * 1024 * 1024)
#define LINGERING_BYTES   (1024 * 1024)
#define SWEEP_INTERVAL_NS (10 * NS_PER_MS)
#define LEASE_NS          (10 * NS_PER_SECOND)

static const struct attr_key key_thread_id = ATTR_KEY("thread.id");
static const struct attr_key key_thread_name = ATTR_KEY("thread.name");
static const struct attr_key key_context_name = ATTR_KEY("cuda.context.name");
static const struct attr_key key_error_type = ATTR_KEY("error.type");

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
    made->slept_at = options->slept_at;
    made->expects_devices = options->expects_devices;
    made->own_cost.take = options->take_own;
    made->is_summary = settings->detail == DETAIL_SUMMARY;
    attributes_init(&made->plan, settings->detail);
    for (unsigned kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        made->is_kind_filtered[kind] =
            activity_table[kind].name &&
            !filter_passes(&settings->capture.activities, activity_table[kind].name, NULL);
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
    struct figures_options figures = {.has_metrics = settings->metrics.is_on,
                                      .streams = settings->metrics.streams,
                                      .exemplars = settings->metrics.exemplar_filter};
    if (!session_init(&made->session, &session) ||
        pending_create(settings->correlation.pending_max, &made->pending) != STATUS_OK ||
        waiting_create(WAITING_BYTES, &made->waiting) != STATUS_OK ||
        names_create(NAMES_BYTES, &made->names) != STATUS_OK || shared_create(&made->shared) != STATUS_OK ||
        gpu_counted_create(settings, &made->gpu_counted) != STATUS_OK ||
        workers_create(&made->workers) != STATUS_OK || ranges_create(&made->ranges) != STATUS_OK ||
        states_create(&made->states) != STATUS_OK || objects_create(&made->objects) != STATUS_OK ||
        accounts_create(&made->accounts) != STATUS_OK ||
        lingering_create(LINGERING_BYTES, &made->lingering) != STATUS_OK ||
        (made->is_summary && summaries_create(&made->summaries) != STATUS_OK) ||
        graphs_create(settings_have_graph_nodes(settings), &made->graphs) != STATUS_OK ||
        figures_create(&figures, &made->figures) != STATUS_OK) {
        correlate_destroy(made);
        return STATUS_NO_MEMORY;
    }
    made->now_ns = clock_monotonic_ns();
    made->figures_are_on = settings->metrics.is_on;
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
    shared_destroy(correlate->shared);
    gpu_counted_destroy(correlate->gpu_counted);
    workers_destroy(correlate->workers);
    ranges_destroy(correlate->ranges);
    states_destroy(correlate->states);
    objects_destroy(correlate->objects);
    devices_deinit(&correlate->devices);
    graphs_destroy(correlate->graphs);
    figures_destroy(correlate->figures);
    accounts_destroy(correlate->accounts);
    summaries_destroy(correlate->summaries);
    lingering_destroy(correlate->lingering);
    free(correlate);
}

/* --- sessions
 * ------------------------------------------------------------------------------------------------------ */

void correlate_emit(struct correlate *c, const struct span *span)
{
    counter_add_alone(COUNTER_spans_created, 1);
    c->sink.on_span(c->sink.context, span);
}

/* A session whose calls' GPU records are still to come. */
struct ended_session {
    struct span span;
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event events[];
};

/* It spans what is counted for it, the GPU's work after its last call included. */
static void emit_session(struct correlate *c, struct account *account, struct span_event *events)
{
    struct span *span = &c->ended.span;
    if (account->totals.first_ns && account->totals.first_ns < span->start_ns)
        span->start_ns = account->totals.first_ns;
    if (account->totals.last_ns > span->end_ns)
        span->end_ns = account->totals.last_ns;
    counting_put_error(c, &account->totals);
    counting_emit(c, account, events, SPAN_EVENTS_MAX);
}

static void emit_lingering(void *context, struct account *account, const void *body)
{
    struct correlate *c = context;
    const struct ended_session *session = body;
    c->ended.span = session->span;
    memcpy(c->ended.links, session->links, sizeof c->ended.links);
    memcpy(c->ended.events, session->events, session->span.event_count * sizeof *session->events);
    c->ended.span.links = c->ended.links;
    c->ended.span.events = c->ended.events;
    emit_session(c, account, c->ended.events);
}

static void end_session(struct correlate *c, const char *reason, struct span *span, struct span_link *links)
{
    session_close(&c->session, reason, span, links);
    if (c->session.is_sampled)
        own_cost_write(&c->own_cost, span);
}

/* False: there is no room for it. Others may leave early, which is why it is asked for before the span is
 * made. */
static bool linger(struct correlate *c, const struct account *account, const char *reason)
{
    size_t event_bytes = c->session.event_count * sizeof *c->session.events;
    struct lingering_head head = {.bytes = (uint32_t)(sizeof(struct ended_session) + event_bytes),
                                  .account = account->handle,
                                  .since_ns = c->now_ns,
                                  .emit = emit_lingering};
    struct ended_session *kept = counting_linger(c, &head);
    if (!kept)
        return false;
    end_session(c, reason, &kept->span, kept->links);
    memcpy(kept->events, c->session.events, event_bytes);
    return true;
}

static void close_session(struct correlate *c, const char *reason)
{
    struct account *account = accounts_find(c->accounts, c->session_account);
    c->session_account = 0;
    if (account && account->due && linger(c, account, reason))
        return;
    end_session(c, reason, &c->ended.span, c->ended.links);
    if (account)
        emit_session(c, account, c->session.events);
    else if (c->session.is_sampled)
        correlate_emit(c, &c->ended.span);
    else
        counter_add_alone(COUNTER_sessions_unsampled, 1);
    if (account)
        accounts_close(c->accounts, account);
}

static void close_session_if_due(struct correlate *c, uint64_t time_ns)
{
    if (session_is_due(&c->session, time_ns))
        close_session(c, c->session.spans >= c->session.options.spans_max ? "spans" : "age");
}

/* The parent of work that belongs to no request. Other parents of a call go before it: ranges and attached
 * contexts. */
struct session *correlate_session_at(struct correlate *c, uint64_t time_ns)
{
    close_session_if_due(c, time_ns);
    if (!c->session.is_open) {
        session_open(&c->session, time_ns);
        c->session_account = c->session.is_sampled ? counting_open_root(c) : 0;
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

void correlate_put_error(struct span *span, enum call_domain domain, int32_t result)
{
    const char *name = call_result_name(domain, result);
    span->status = SPAN_STATUS_ERROR;
    span->status_message = name;
    span_attr_string(span, &key_error_type, name ? name : "_OTHER");
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
    names_begin_round(c->names);
    c->figures_are_on = figures_tick(c->figures, now_ns);
    if (now_ns < c->next_sweep_ns)
        return;
    c->next_sweep_ns = now_ns + SWEEP_INTERVAL_NS;
    activity_spans_sweep(c);
    counting_sweep(c);
    if (c->session.is_open)
        close_session_if_due(c, clock_now_ns());
}

void correlate_settle(struct correlate *c, uint64_t now_ns)
{
    c->next_sweep_ns = 0;
    correlate_tick(c, now_ns);
}

bool correlate_wants_records(struct correlate *c)
{
    bool for_device = c->lacks_device && !c->has_asked_for_device;
    bool for_summaries = c->summaries && summaries_are_many(c->summaries) &&
                         c->now_ns >= c->asked_for_summaries_ns + SWEEP_INTERVAL_NS;
    c->has_asked_for_device |= for_device;
    if (for_summaries)
        c->asked_for_summaries_ns = c->now_ns;
    return for_device || for_summaries;
}

uint32_t correlate_waiting(const struct correlate *c)
{
    return pending_waiting(c->pending);
}

uint64_t correlate_held(const struct correlate *c)
{
    return (uint64_t)waiting_count(c->waiting) + ranges_open(c->ranges) + lingering_count(c->lingering) +
           c->session.is_open;
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
    counting_finish(c);
}

struct figures *correlate_figures(struct correlate *c)
{
    return figures_read(c->figures);
}

void correlate_begin_interval(struct correlate *c, bool is_delta)
{
    figures_begin_interval(c->figures, is_delta);
}

const char *correlate_device_id(const struct correlate *c, uint32_t device)
{
    return c->devices.ids[device];
}

void correlate_look(struct correlate *c, uint64_t now_ns, struct figures_view *view)
{
    figures_look(c->figures, &c->devices, view);
    figures_lease(c->figures, now_ns, now_ns + LEASE_NS);
    c->figures_are_on = true;
}

uint32_t correlate_traces(const struct correlate *c, uint8_t (*traces)[16], uint32_t max, uint32_t *total)
{
    uint32_t kept = c->session.number < SESSION_TRACES_KEPT ? c->session.number : SESSION_TRACES_KEPT;
    kept = kept < max ? kept : max;
    memcpy(traces, c->session.traces, kept * sizeof *traces);
    *total = c->session.number;
    return kept;
}
