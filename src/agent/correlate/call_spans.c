#include "agent/correlate/call_spans.h"

#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/correlate/collective_spans.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/join/graphs.h"
#include "agent/correlate/join/pending.h"
#include "agent/correlate/observers.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/stacks/code_profile.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/totals/allocations.h"
#include "model/semconv.h"

#include <string.h>

#define REPEATED_WORDS_MAX (SHARED_KEY_WORDS - 5)
#define CALL_KEY           UINT16_MAX /* in the place of an activity's kind */

static void add_to_session(struct correlate *c, const struct span_event *event)
{
    session_add_event(session_spans_at(c, event->time_ns, event->time_ns), event);
}

/* Moves this thread's events inside the call to the call's span. Older ones happened outside any call. */
static void take_events(struct correlate *c, uint64_t tid, uint64_t start_ns, uint64_t end_ns)
{
    if (!c->calls.held_count)
        return;
    for (unsigned i = 0; i < RESOURCES_HELD; i++) {
        struct held_resource *held = &c->calls.held[i];
        if (held->tid != tid || held->event.time_ns > end_ns)
            continue;
        bool inside = held->event.time_ns >= start_ns;
        if (inside && c->span.event_count < CALL_EVENTS_MAX)
            c->calls.events[c->span.event_count++] = held->event;
        else if (inside)
            c->span.events_dropped++;
        else
            add_to_session(c, &held->event);
        held->tid = 0;
        c->calls.held_count--;
    }
    c->span.events = c->calls.events;
}

static uint32_t expectations(const struct correlate *c, const struct call_record *call,
                             const struct call_info *info)
{
    if (!info->has_activity || call->result != 0)
        return 0;
    if (info->group != CALL_GROUP_LAUNCH)
        return PENDING_EXPECTED;
    bool graph = c->options.expects_graphs && info->launches_graph;
    return PENDING_EXPECTED | PENDING_KERNEL | (graph ? PENDING_GRAPH : 0);
}

/* Adds the call to the table of pending calls. True: a GPU record is due for the parent's account. */
static bool remember(struct correlate *c, const struct call_record *call, const struct parent *parent,
                     const uint8_t span_id[8], uint32_t expected)
{
    uint32_t flags =
        (parent->flags & PENDING_TRACE_FLAGS) | expected | (parent->is_sampled ? 0 : PENDING_UNSAMPLED);
    struct pending_call *pending = pending_insert(c->pending, call->correlation_id, flags);
    if (!pending)
        return false;
    memcpy(pending->trace_id, parent->trace_id, 16);
    memcpy(pending->span_id, span_id, 8);
    pending->start_ns = call->start_ns;
    pending->trace_state = parent->trace_state;
    pending->account = parent->account;
    pending->place = c->calls.place;
    return (expected & PENDING_EXPECTED) != 0;
}

/* Returns the value of the span's handle attribute with this name; 0: none. */
static uint64_t handle_in(const struct span *span, const char *param)
{
    for (uint32_t i = 0; i < span->attr_count; i++)
        if (span->attrs[i].type == ATTR_POINTER && strcmp(span->attrs[i].key->name, param) == 0)
            return (uint64_t)span->attrs[i].i;
    return 0;
}

/* Adds the name of the call's stream or event. The call's GPU work finds the stream's name by the index in
 * the table of pending calls. */
static void put_object_name(struct correlate *c, enum named_object kind, const struct call_info *info,
                            const struct call_record *call)
{
    struct span *span = &c->span;
    bool is_stream = kind == NAMED_STREAM;
    uint64_t handle = handle_in(span, is_stream ? SEMCONV_CUDA_ARG_STREAM : SEMCONV_CUDA_ARG_EVENT);
    uint32_t index = named_objects_find(&c->objects, kind, handle);
    const char *text = named_objects_text(&c->objects, index);
    if (!text)
        return;
    if (is_stream)
        span_attr_string(span, ATTR(SEMCONV_CUDA_STREAM_NAME), text);
    else
        span_attr_string(span, ATTR(SEMCONV_CUDA_EVENT_NAME), text);
    struct pending_call *pending = pending_find(c->pending, call->correlation_id, call->start_ns);
    if (pending && is_stream)
        pending->flags |= index << PENDING_STREAM_SHIFT;
    /* CUDA reuses handles, so the name ends with the object. */
    if (call->result == 0 && strstr(call_name(info), is_stream ? "StreamDestroy" : "EventDestroy"))
        named_objects_forget(&c->objects, kind, handle);
}

#define GRAPH_DEVICE_LAUNCH 4 /* in the flags of cudaGraphInstantiate and cuGraphInstantiate */

/* Whether the call has made a graph that kernels can launch. */
__attribute__((noinline)) static bool makes_device_graph(const struct call_record *call,
                                                         const struct call_info *info)
{
    uint64_t flags;
    return call->result == 0 && strstr(call_name(info), "GraphInstantiate") &&
           attributes_param(info, call, SEMCONV_CUDA_ARG_FLAGS, &flags) && flags & GRAPH_DEVICE_LAUNCH;
}

static void note_device_graph(void)
{
    counter_add(COUNTER_device_graphs, 1);
    log_once(log_warn,
             "this program makes CUDA graphs that kernels can launch; CUPTI has no records of these "
             "executions, which therefore have no spans");
}

/* Tells graphs.h the call's span, to which captured nodes link. The link lives longer than a request's
 * tracestate, so it has only a session's. */
__attribute__((noinline)) static void link_nodes(struct correlate *c, uint64_t tid,
                                                 const struct call_record *call, const struct parent *parent)
{
    struct span_link link = {.flags = parent->flags & PENDING_TRACE_FLAGS,
                             .trace_state = parent->is_session ? parent->trace_state : NULL};
    memcpy(link.trace_id, parent->trace_id, sizeof link.trace_id);
    memcpy(link.span_id, c->span.span_id, sizeof link.span_id);
    graphs_call(c->graphs, tid, call, parent->is_sampled ? &link : NULL);
}

/* Tells graphs.h about a graph that the call launched, and nodes that it captured or added. Inlined, because
 * most calls do neither. */
static inline void note_graphs(struct correlate *c, uint64_t tid, const struct call_record *call,
                               const struct call_info *info, const struct parent *parent)
{
    if (info->launches_graph)
        graphs_launch(c->graphs, call);
    else if (info->group == CALL_GROUP_GRAPH && makes_device_graph(call, info))
        note_device_graph();
    if (__builtin_expect(graphs_link_nodes(c->graphs), 0))
        link_nodes(c, tid, call, parent);
}

/* Counts a call, which gets no span, for its ranges and its request or session. */
static void summarize(struct correlate *c, const struct thread_state *state, const struct call_record *call,
                      const struct call_info *info, const struct parent *parent)
{
    bool is_request = state->has_context, is_due = false;
    struct origin origin = {.flags = parent->flags & PENDING_TRACE_FLAGS,
                            .trace_state = parent->trace_state,
                            .context = is_request ? state->context : NULL,
                            .time_ns = call->start_ns};
    uint32_t expected = expectations(c, call, info) | (is_request ? 0u : (uint32_t)PENDING_SESSION);
    if (call->correlation_id)
        is_due = remember(c, call, parent, is_request ? state->context + 16 : parent->span_id, expected);
    if (parent->is_sampled)
        counting_add_call(c, parent->account, &origin, info, call, is_due);
    counter_add_alone(parent->is_sampled ? COUNTER_spans_summed : COUNTER_spans_unsampled, 1);
}

void call_spans_add_asleep(struct correlate *c, const struct thread_info *thread,
                           const struct call_record *call)
{
    static const struct parent nobody;
    const struct call_info *info = call_info((enum call_domain)call->head.domain, call->head.cbid);
    if (info && !c->is_summary)
        note_graphs(c, thread->tid, call, info, &nobody);
    c->calls.code = NULL; /* capture fell asleep while the record was written */
}

/* Whether the call's parameters are worth sharing: launches repeat them, but other calls have new addresses
 * and sizes. */
static bool repeats_itself(const struct call_info *info, const struct call_record *call)
{
    return info->group == CALL_GROUP_LAUNCH &&
           call->head.bytes <= sizeof *call + REPEATED_WORDS_MAX * sizeof *call->values;
}

/* Adds the name and attributes that the thread's calls of this function have in common. */
static void put_lasting(struct correlate *c, const struct thread_info *thread, const struct call_info *info,
                        const struct call_record *call, bool is_repeated)
{
    struct span *span = &c->span;
    span->name = call_name(info);
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, ATTR(SEMCONV_CUDA_API), call->head.domain == CALL_RUNTIME ? "runtime" : "driver");
    spans_put_thread(c, span, thread);
    span_attr_int(span, ATTR(SEMCONV_CUDA_CONTEXT_ID), call->context_id);
    spans_put_context_name(c, span, call->context_id);
    if (is_repeated)
        attributes_of_call(span, info, call);
}

/* Like put_lasting(), with a shared part. Only for programs that name no objects, because a name could change
 * between calls. */
static void put_lasting_shared(struct correlate *c, const struct thread_info *thread,
                               const struct call_info *info, const struct call_record *call, bool is_repeated)
{
    uint64_t key[SHARED_KEY_WORDS];
    uint32_t words = is_repeated ? (call->head.bytes - (uint32_t)sizeof *call) / 8 : 0;
    key[0] = CALL_KEY | call->head.domain << 16 | (uint64_t)call->head.cbid << 32;
    key[1] = (uint64_t)call->context_id << 32 | (is_repeated ? call->present : 0);
    key[2] = thread->tid;
    static_assert(sizeof thread->name == 2 * sizeof *key, "a thread's name is two words of the key");
    memcpy(&key[3], thread->name, sizeof thread->name);
    memcpy(&key[5], call->values, words * sizeof *key);
    if (span_shared_take(&c->shared, key, 5 + words, &c->span))
        return;
    put_lasting(c, thread, info, call, is_repeated);
    span_shared_offer(&c->shared, &c->span);
}

/* Fills the span with all but IDs and times. */
static void describe(struct correlate *c, const struct thread_info *thread, const struct call_info *info,
                     const struct call_record *call, const struct parent *parent)
{
    struct span *span = &c->span;
    bool is_repeated = repeats_itself(info, call);
    spans_put_below_parent(c, span, parent);
    (c->objects.count ? put_lasting : put_lasting_shared)(c, thread, info, call, is_repeated);
    span_attr_int(span, ATTR(SEMCONV_CUDA_CORRELATION_ID), call->correlation_id);
    if (!is_repeated)
        attributes_of_call(span, info, call);
    if (call->result != 0) {
        spans_put_error(span, (enum call_domain)call->head.domain, call->result);
        span_attr_int(span, ATTR(SEMCONV_CUDA_ERROR_CODE), call->result);
    }
}

void call_spans_code(struct correlate *c, const struct code_record *record)
{
    if (!c->code)
        return;
    struct code_stack *code = code_stacks_note(c->code, record);
    if (record->flags & CODE_IS_OF_NODES)
        return; /* the graph nodes' record follows */
    c->calls.code = code;
}

/* Whether the step's limit leaves the call's span out. `*step` becomes the step whose limit applies (NULL:
 * none). Not inlined, because few programs have steps. */
__attribute__((noinline)) static bool is_left_out(struct correlate *c, const struct call_record *call,
                                                  const struct parent *parent, uint32_t expected,
                                                  struct step **step)
{
    step_spans_note(c, parent, call->start_ns, expected & PENDING_EXPECTED, false);
    *step = step_spans_limit_of(c, parent, call->start_ns);
    return *step && !step_spans_takes_call(c, *step, call->result != 0);
}

static void make_span(struct correlate *c, const struct thread_info *thread, const struct call_info *info,
                      const struct call_record *call, const struct parent *parent)
{
    struct span *span = &c->span;
    uint32_t expected = expectations(c, call, info);
    struct step *step = NULL; /* the step whose limit of spans applies; NULL: none */
    /* The call is only counted and gets no span: its GPU work becomes a child of the call's parent, its
     * events are added to the session, and streams and events keep their names. */
    bool only_counts =
        __builtin_expect(c->sessions.steps.count != 0, 0) && is_left_out(c, call, parent, expected, &step);
    span_begin(span, call->start_ns, call->end_ns > call->start_ns ? call->end_ns : call->start_ns + 1);
    session_next_span_id(&c->sessions.current, span->span_id);
    if (__builtin_expect(only_counts, 0))
        memcpy(span->span_id, parent->span_id, sizeof span->span_id);
    take_events(c, thread->tid, only_counts ? UINT64_MAX : span->start_ns, span->end_ns);
    session_spans_cover(c, parent, span->start_ns, span->end_ns);
    if (parent->is_sampled && (!only_counts || c->objects.count))
        describe(c, thread, info, call, parent);
    bool is_due = call->correlation_id && remember(c, call, parent, span->span_id, expected);
    note_graphs(c, thread->tid, call, info, parent);
    if (__builtin_expect(c->collectives != NULL, 0))
        collective_spans_launch(c, thread, info, call);
    struct origin origin = {.time_ns = call->start_ns};
    if (parent->is_sampled || parent->account)
        counting_add_call(c, parent->account, &origin, info, call, is_due);
    if (!parent->is_sampled) {
        counter_add_alone(COUNTER_spans_unsampled, 1);
        return;
    }
    if (c->objects.has[NAMED_STREAM])
        put_object_name(c, NAMED_STREAM, info, call);
    if (c->objects.has[NAMED_EVENT])
        put_object_name(c, NAMED_EVENT, info, call);
    if (__builtin_expect(only_counts, 0)) {
        counting_leave_out(c, parent->account);
        return;
    }
    if (__builtin_expect(c->calls.code != NULL, 0))
        spans_put_code(c->options.settings, span, c->calls.code);
    if (step)
        step_spans_emit(c, step, span, parent->account);
    else
        spans_emit(c, span);
}

/* Returns the call's place in profiles. Its link leads to the request, session or step that the call works
 * for: these are fewer than ranges and calls, so that equal stacks add up. */
static uint32_t profile_place(struct correlate *c, const struct thread_state *state,
                              const struct parent *parent)
{
    struct profile_link link;
    const struct session *session = state->has_context ? NULL : session_spans_of_trace(c, parent->trace_id);
    memcpy(link.trace_id, parent->trace_id, sizeof link.trace_id);
    memcpy(link.span_id, parent->span_id, sizeof link.span_id);
    if (state->has_context)
        memcpy(&link, state->context, sizeof link);
    else if (session)
        memcpy(link.span_id, session->span_id, sizeof link.span_id);
    return code_profile_place(spans_profile(c), c->calls.code, parent->is_sampled ? &link : NULL);
}

void call_spans_add(struct correlate *c, const struct thread_info *thread, const struct call_record *call)
{
    const struct call_info *info = call_info((enum call_domain)call->head.domain, call->head.cbid);
    if (info) {
        pending_prefetch(c->pending, call->correlation_id);
        observers_add_call(c, info, call);
        struct thread_state *state = thread_events_state(c, thread, call->end_ns);
        struct parent parent = thread_events_parent(c, state, call->start_ns);
        if (__builtin_expect(c->profile != NULL, 0))
            c->calls.place = info->has_activity ? profile_place(c, state, &parent) : 0;
        if (c->is_summary)
            summarize(c, state, call, info, &parent);
        else
            make_span(c, thread, info, call, &parent);
    } else { /* from a recording of a later version */
        counter_add_alone(COUNTER_spans_filtered, 1);
    }
    c->calls.code = NULL;
}

void call_spans_resource(struct correlate *c, const struct thread_info *thread,
                         const struct resource_record *resource)
{
    struct span_event event = {.time_ns = resource->time_ns};
    if (resource->head.cbid == RESOURCE_CONTEXT_ENDS)
        allocations_end_context(c->allocations, resource->context_id);
    if (c->code && resource->head.cbid == RESOURCE_NODE_CREATED && resource->code &&
        !code_stacks_of_nodes(c->code, resource->code))
        counter_add(COUNTER_code_unknown, 1);
    if (graphs_note(c->graphs, thread->tid, resource) || c->is_summary)
        return; /* events need call spans, which a summary does not have */
    switch (resource->head.cbid) {
    case RESOURCE_MODULE_LOADED:
        event.name = SEMCONV_EVENT_CUDA_MODULE_LOADED;
        event.attrs[0] =
            (struct span_attr){.key = ATTR(SEMCONV_CUDA_MODULE_ID), .type = ATTR_INT, .i = resource->id};
        event.attrs[1] = (struct span_attr){
            .key = ATTR(SEMCONV_CUDA_MODULE_BYTES), .type = ATTR_INT, .i = resource->bytes};
        event.attr_count = 2;
        break;
    case RESOURCE_CONTEXT_CREATED:
    case RESOURCE_CONTEXT_ENDS:
        event.name = resource->head.cbid == RESOURCE_CONTEXT_CREATED ? SEMCONV_EVENT_CUDA_CONTEXT_CREATED
                                                                     : SEMCONV_EVENT_CUDA_CONTEXT_DESTROYED;
        if (resource->head.cbid == RESOURCE_CONTEXT_ENDS)
            named_objects_forget(&c->objects, NAMED_CONTEXT, resource->handle); /* CUDA reuses the handle */
        event.attrs[0] = (struct span_attr){
            .key = ATTR(SEMCONV_CUDA_CONTEXT_HANDLE), .type = ATTR_POINTER, .i = (int64_t)resource->handle};
        event.attr_count = 1;
        break;
    default:
        return;
    }
    for (unsigned i = 0; i < RESOURCES_HELD; i++) {
        if (c->calls.held[i].tid == 0) {
            c->calls.held[i] = (struct held_resource){thread->tid, event};
            c->calls.held_count++;
            return;
        }
    }
    add_to_session(c, &event);
}

void call_spans_finish(struct correlate *c)
{
    for (unsigned i = 0; i < RESOURCES_HELD; i++)
        if (c->calls.held[i].tid && c->sessions.current.is_open)
            session_add_event(&c->sessions.current, &c->calls.held[i].event);
}
