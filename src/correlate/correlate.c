#include "correlate/correlate.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "correlate/attributes.h"
#include "correlate/devices.h"
#include "correlate/graphs.h"
#include "correlate/names.h"
#include "correlate/objects.h"
#include "correlate/parent.h"
#include "correlate/pending.h"
#include "correlate/ranges.h"
#include "correlate/session.h"
#include "correlate/states.h"
#include "correlate/waiting.h"
#include "correlate/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES          (4 * 1024 * 1024)
#define WAITING_BYTES        (2 * 1024 * 1024)
#define SWEEP_INTERVAL_NS    (10 * NS_PER_MS)
#define RESOURCES_HELD       32
#define DOMAIN_MODULE_LOADED 6 /* CUPTI's resource callback IDs that become events */
#define DOMAIN_CONTEXT_MADE  1
#define DOMAIN_CONTEXT_GONE  2

static const struct attr_key key_api = ATTR_KEY("cuda.api");
static const struct attr_key key_activity = ATTR_KEY("cuda.activity");
static const struct attr_key key_thread_id = ATTR_KEY("thread.id");
static const struct attr_key key_thread_name = ATTR_KEY("thread.name");
static const struct attr_key key_context = ATTR_KEY("cuda.context.id");
static const struct attr_key key_correlation = ATTR_KEY("cuda.correlation.id");
static const struct attr_key key_error_type = ATTR_KEY("error.type");
static const struct attr_key key_error_code = ATTR_KEY("cuda.error.code");
static const struct attr_key key_kernel_name = ATTR_KEY("cuda.kernel.name");
static const struct attr_key key_delay = ATTR_KEY("cuda.start_delay");
static const struct attr_key key_null_stream = ATTR_KEY("cuda.stream.default");
static const struct attr_key key_orphan = ATTR_KEY("cuda.orphan");
static const struct attr_key key_zero_length = ATTR_KEY("cuda.zero_length");
static const struct attr_key key_instant = ATTR_KEY("cuda.instant");
static const struct attr_key key_stream_name = ATTR_KEY("cuda.stream.name");
static const struct attr_key key_range = ATTR_KEY("cuda.range");
static const struct attr_key key_unended = ATTR_KEY("cuda.range.unended");
static const struct attr_key key_module_id = ATTR_KEY("cuda.module.id");
static const struct attr_key key_module_bytes = ATTR_KEY("cuda.module.bytes");
static const struct attr_key key_graph_nodes = ATTR_KEY("cuda.graph.nodes");
static const struct attr_key key_link = ATTR_KEY("cuda.link");
static const struct attr_key key_context_handle = ATTR_KEY("cuda.context.handle");

struct held_resource {
    uint64_t tid; /* 0: free */
    struct span_event event;
};

#define DECISIONS_KEPT 1024

struct decision {
    uint8_t trace_id[16];
    bool is_sampled;
};

struct correlate {
    const struct settings *settings;
    struct correlate_sink sink;
    bool expects_calls, expects_graphs;
    struct session session;
    struct pending_table *pending;
    struct waiting_queue *waiting;
    struct workers *workers;
    struct ranges *ranges;
    struct states *states;
    struct objects *objects;
    struct decision decisions[DECISIONS_KEPT]; /* on traces of contexts, where their flags don't decide */
    struct names *names;
    struct devices devices;
    struct graphs *graphs;
    struct attribute_plan plan;
    struct held_resource held[RESOURCES_HELD]; /* events on their way to the call that they happened in */
    uint64_t next_sweep_ns, now_ns;
    struct span span; /* the scratch span */
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event call_events[8];
    struct range_events range_events;
    struct attr_key keys[SPAN_ATTRS_MAX];
    char message[RANGE_TEXT_BYTES + 1];
};

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
    made->now_ns = clock_monotonic_ns();
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
    graphs_destroy(correlate->graphs);
    free(correlate);
}

/* --- sessions
 * ------------------------------------------------------------------------------------------------------ */

static void emit(struct correlate *c)
{
    counter_add(COUNTER_spans_created, 1);
    c->sink.on_span(c->sink.context, &c->span);
}

static void close_session(struct correlate *c, const char *reason)
{
    session_close(&c->session, reason, &c->span, c->links);
    if (c->session.is_sampled)
        emit(c);
}

/* The parent of work that belongs to no request. Other parents of a call go before it: ranges and attached
 * contexts. */
static struct session *session_at(struct correlate *c, uint64_t time_ns)
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

/* --- parents
 * ------------------------------------------------------------------------------------------------------- */

static void close_range(struct correlate *c, struct range *range, uint64_t end_ns,
                        const struct range_record *end);

/* What a dead thread left open can't be its slot's next thread's. */
static struct worker *worker_of(struct correlate *c, const struct thread_info *thread, uint64_t now_ns)
{
    struct worker *worker = workers_at(c->workers, thread->slot);
    if (worker->serial != thread->serial) {
        while (worker->depth > 0) {
            struct range *range = ranges_find(c->ranges, worker->open[--worker->depth]);
            if (range)
                close_range(c, range, worker->seen_ns, NULL);
        }
        worker_reset(worker, thread);
    }
    if (now_ns > worker->seen_ns)
        worker->seen_ns = now_ns;
    return worker;
}

/* The innermost open range, as long as the context in which it began is still the thread's. */
static struct range *innermost_range(const struct correlate *c, const struct worker *worker)
{
    for (uint32_t i = worker->depth; i > 0; i--) {
        struct range *range = ranges_find(c->ranges, worker->open[i - 1]);
        if (range && memcmp(range->context, worker->context, sizeof range->context) == 0)
            return range;
    }
    return NULL;
}

/* The first that exists: the innermost open range, the thread's context, the session. */
static struct parent parent_of(struct correlate *c, const struct worker *worker, uint64_t time_ns)
{
    const struct range *range = innermost_range(c, worker);
    struct parent parent = {.is_session = false};
    if (range) {
        parent = range->parent;
        memcpy(parent.span_id, &range->id, 8);
        parent.flags |= 0x100u;
    } else if (worker->has_context) {
        memcpy(parent.trace_id, worker->context, 16);
        memcpy(parent.span_id, worker->context + 16, 8);
        parent.is_sampled = worker->is_sampled;
        parent.flags = (worker->flags & TRACE_FLAG_RANDOM) | (parent.is_sampled ? TRACE_FLAG_SAMPLED : 0u);
        parent.trace_state = worker->trace_state;
    } else {
        const struct session *session = session_at(c, time_ns);
        memcpy(parent.trace_id, session->trace_id, 16);
        memcpy(parent.span_id, session->span_id, 8);
        parent.flags = session->flags | 0x100u;
        parent.trace_state = session->trace_state;
        parent.is_sampled = session->is_sampled;
        parent.is_session = true;
    }
    return parent;
}

/* The session spans what belongs to its trace. Unsampled ones count, too: sessions end after as many spans.
 */
static void cover(struct correlate *c, const struct parent *parent, uint64_t start_ns, uint64_t end_ns)
{
    if (parent->is_session && c->session.is_open && memcmp(c->session.trace_id, parent->trace_id, 16) == 0)
        session_cover(&c->session, start_ns, end_ns);
}

/* --- spans
 * ---------------------------------------------------------------------------------------------------------
 */

static void begin_span(struct span *span, uint64_t start_ns, uint64_t end_ns)
{
    memset(span, 0, offsetof(struct span, attrs));
    span->kind = SPAN_KIND_INTERNAL;
    span->start_ns = start_ns;
    span->end_ns = end_ns;
}

static void put_below(const struct correlate *c, struct span *span, const uint8_t *trace_id,
                      const uint8_t *parent_span_id, uint32_t flags, const char *trace_state)
{
    memcpy(span->trace_id, trace_id, 16);
    memcpy(span->parent_span_id, parent_span_id, 8);
    span->flags = flags;
    span->trace_state = states_valid(c->states, trace_id, trace_state);
}

static void put_below_parent(const struct correlate *c, struct span *span, const struct parent *parent)
{
    put_below(c, span, parent->trace_id, parent->span_id, parent->flags, parent->trace_state);
}

/* The name that the program itself gave goes before the kernel's. */
static void put_thread(const struct correlate *c, struct span *span, const struct thread_info *thread)
{
    const char *named = objects_has(c->objects, NAMED_THREAD)
                            ? objects_text(c->objects, objects_find(c->objects, NAMED_THREAD, thread->tid))
                            : NULL;
    span_attr_int(span, &key_thread_id, (int64_t)thread->tid);
    if (named || *thread->name)
        span_attr_string(span, &key_thread_name, named ? named : thread->name);
}

static void set_error(struct span *span, enum call_domain domain, int32_t result)
{
    const char *name = call_result_name(domain, result);
    span->status = SPAN_STATUS_ERROR;
    span->status_message = name;
    span_attr_string(span, &key_error_type, name ? name : "_OTHER");
    span_attr_int(span, &key_error_code, result);
}

/* Moves what happened on this thread inside the call to the call's span; what is older happened outside any
 * call. */
static void take_events(struct correlate *c, uint64_t tid, uint64_t start_ns, uint64_t end_ns)
{
    for (unsigned i = 0; i < RESOURCES_HELD; i++) {
        struct held_resource *held = &c->held[i];
        if (held->tid != tid || held->event.time_ns > end_ns)
            continue;
        bool inside = held->event.time_ns >= start_ns;
        if (inside && c->span.event_count < sizeof c->call_events / sizeof *c->call_events)
            c->call_events[c->span.event_count++] = held->event;
        else if (inside)
            c->span.events_dropped++;
        else
            session_add_event(&c->session, &held->event);
        held->tid = 0;
    }
    c->span.events = c->call_events;
}

static bool launches_graph(enum call_domain domain, const struct call_info *info)
{
    const char *name = call_name(info) + (domain == CALL_RUNTIME ? strlen("cuda") : strlen("cu"));
    return info->group == CALL_GROUP_LAUNCH && strncmp(name, "GraphLaunch", strlen("GraphLaunch")) == 0;
}

static uint32_t expectations(const struct correlate *c, const struct call_record *call,
                             const struct call_info *info)
{
    if (!info->has_activity || call->result != 0)
        return 0;
    bool graph = c->expects_graphs && launches_graph((enum call_domain)call->head.domain, info);
    return PENDING_EXPECTED | (graph ? PENDING_GRAPH : 0);
}

static void remember(struct correlate *c, const struct call_record *call, const struct parent *parent,
                     uint32_t expected)
{
    uint32_t flags =
        (parent->flags & PENDING_TRACE_FLAGS) | expected | (parent->is_sampled ? 0 : PENDING_UNSAMPLED);
    struct pending_call *pending = pending_insert(c->pending, call->correlation_id, flags);
    if (!pending)
        return;
    memcpy(pending->trace_id, parent->trace_id, 16);
    memcpy(pending->span_id, c->span.span_id, 8);
    pending->start_ns = call->start_ns;
    pending->trace_state = parent->trace_state;
}

/* The stream among the call's parameters by its name; its GPU work gets it from the table of pending calls.
 */
static void put_stream_name(struct correlate *c, const struct call_info *info, const struct call_record *call)
{
    struct span *span = &c->span;
    for (uint32_t i = 0; i < span->attr_count; i++) {
        const struct span_attr *attr = &span->attrs[i];
        if (attr->type != ATTR_POINTER || strcmp(attr->key->name, "cuda.arg.stream") != 0)
            continue;
        uint64_t handle = (uint64_t)attr->i;
        uint32_t index = objects_find(c->objects, NAMED_STREAM, handle);
        struct pending_call *pending = pending_find(c->pending, call->correlation_id, call->start_ns);
        if (index)
            span_attr_string(span, &key_stream_name, objects_text(c->objects, index));
        if (index && pending)
            pending->flags |= index << PENDING_STREAM_SHIFT;
        if (info->group == CALL_GROUP_STREAM && call->result == 0 && strstr(call_name(info), "StreamDestroy"))
            objects_forget(c->objects, NAMED_STREAM, handle);
        return;
    }
}

/* What the call did to graphs: it captured or added nodes, or launched one. */
static void note_graphs(struct correlate *c, uint64_t tid, const struct call_record *call,
                        const struct call_info *info, const struct parent *parent)
{
    if (launches_graph((enum call_domain)call->head.domain, info))
        graphs_launch(c->graphs, call);
    if (!graphs_link_nodes(c->graphs))
        return;
    /* The link lives longer than a request's tracestate is kept. */
    struct span_link link = {.flags = parent->flags & PENDING_TRACE_FLAGS,
                             .trace_state = parent->is_session ? parent->trace_state : NULL};
    memcpy(link.trace_id, parent->trace_id, sizeof link.trace_id);
    memcpy(link.span_id, c->span.span_id, sizeof link.span_id);
    graphs_call(c->graphs, tid, call, parent->is_sampled ? &link : NULL);
}

void correlate_call(struct correlate *c, const struct thread_info *thread, const struct call_record *call)
{
    enum call_domain domain = (enum call_domain)call->head.domain;
    const struct call_info *info = call_info(domain, call->head.cbid);
    if (!info)
        return;
    struct worker *worker = worker_of(c, thread, call->end_ns);
    struct parent parent = parent_of(c, worker, call->start_ns);
    struct span *span = &c->span;
    begin_span(span, call->start_ns, call->end_ns > call->start_ns ? call->end_ns : call->start_ns + 1);
    session_next_span_id(&c->session, span->span_id);
    if (call->correlation_id)
        remember(c, call, &parent, expectations(c, call, info));
    note_graphs(c, thread->tid, call, info, &parent);
    take_events(c, thread->tid, span->start_ns, span->end_ns);
    cover(c, &parent, span->start_ns, span->end_ns);
    if (!parent.is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        return;
    }
    put_below_parent(c, span, &parent);
    span->name = call_name(info);
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, &key_api, domain == CALL_RUNTIME ? "runtime" : "driver");
    put_thread(c, span, thread);
    span_attr_int(span, &key_context, call->context_id);
    span_attr_int(span, &key_correlation, call->correlation_id);
    attributes_of_call(span, info, call);
    if (objects_has(c->objects, NAMED_STREAM))
        put_stream_name(c, info, call);
    if (call->result != 0)
        set_error(span, domain, call->result);
    emit(c);
}

void correlate_resource(struct correlate *c, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    struct span_event event = {.time_ns = resource->time_ns};
    if (graphs_note(c->graphs, thread->tid, resource))
        return;
    switch (resource->head.cbid) {
    case DOMAIN_MODULE_LOADED:
        event.name = "cuda.module.loaded";
        event.attrs[0] = (struct span_attr){.key = &key_module_id, .type = ATTR_INT, .i = resource->id};
        event.attrs[1] = (struct span_attr){.key = &key_module_bytes, .type = ATTR_INT, .i = resource->bytes};
        event.attr_count = 2;
        break;
    case DOMAIN_CONTEXT_MADE:
    case DOMAIN_CONTEXT_GONE:
        event.name =
            resource->head.cbid == DOMAIN_CONTEXT_MADE ? "cuda.context.created" : "cuda.context.destroyed";
        event.attrs[0] = (struct span_attr){
            .key = &key_context_handle, .type = ATTR_POINTER, .i = (int64_t)resource->handle};
        event.attr_count = 1;
        break;
    default:
        return;
    }
    for (unsigned i = 0; i < RESOURCES_HELD; i++) {
        if (c->held[i].tid == 0) {
            c->held[i] = (struct held_resource){thread->tid, event};
            return;
        }
    }
    session_open(&c->session, resource->time_ns);
    session_add_event(&c->session, &event);
}

/* --- contexts and ranges
 * ------------------------------------------------------------------------------------------- */

/* A trace that is attached again, on another thread perhaps, is judged as before: the limit counts traces. */
static struct decision *decision_of(struct correlate *c, const uint8_t trace_id[16])
{
    uint64_t low;
    memcpy(&low, trace_id + 8, sizeof low);
    return &c->decisions[(low * 0x9e3779b97f4a7c15ull >> 32) % DECISIONS_KEPT];
}

static bool sample_context(struct correlate *c, const struct trace_context *context, uint64_t time_ns,
                           char trace_state[TRACE_STATE_MAX])
{
    struct decision *decision = decision_of(c, context->trace_id);
    if (c->settings->sampler_parent_based)
        return sampler_decide(&c->session.sampler, context, context->trace_id, time_ns, trace_state);
    if (memcmp(decision->trace_id, context->trace_id, 16) == 0) {
        strcpy(trace_state, context->trace_state);
        return decision->is_sampled;
    }
    memcpy(decision->trace_id, context->trace_id, 16);
    decision->is_sampled =
        sampler_decide(&c->session.sampler, context, context->trace_id, time_ns, trace_state);
    return decision->is_sampled;
}

void correlate_context(struct correlate *c, const struct thread_info *thread,
                       const struct context_record *attached)
{
    static const uint8_t none[24];
    struct worker *worker = worker_of(c, thread, attached->time_ns);
    struct trace_context context = {.flags = attached->flags};
    char trace_state[TRACE_STATE_MAX] = "";
    memcpy(worker->context, attached->trace_id, 16);
    memcpy(worker->context + 16, attached->span_id, 8);
    worker->has_context = memcmp(worker->context, none, sizeof none) != 0;
    worker->flags = attached->flags;
    worker->trace_state = NULL;
    if (!worker->has_context)
        return;
    memcpy(context.trace_id, attached->trace_id, 16);
    memcpy(context.span_id, attached->span_id, 8);
    memcpy(context.trace_state, attached->state,
           attached->state_bytes < TRACE_STATE_MAX ? attached->state_bytes : 0);
    worker->is_sampled = sample_context(c, &context, attached->time_ns, trace_state);
    worker->trace_state = states_keep(c->states, attached->trace_id, trace_state, strlen(trace_state));
}

/* `end` NULL: nobody ended it. The range's place is free afterwards. */
static void close_range(struct correlate *c, struct range *range, uint64_t end_ns,
                        const struct range_record *end)
{
    struct span *span = &c->span;
    uint32_t keys = 0;
    if (!range->parent.is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        ranges_remove(c->ranges, range);
        return;
    }
    begin_span(span, range->start_ns, end_ns > range->start_ns ? end_ns : range->start_ns + 1);
    memcpy(span->span_id, &range->id, 8);
    put_below_parent(c, span, &range->parent);
    span->name = range->text;
    span->name_len = range->name_bytes;
    span_attr_string(span, &key_range, range->flags & RANGE_ON_THREAD ? "range" : "span");
    put_thread(c, span, &range->thread);
    if (!end)
        span_attr_bool(span, &key_unended, true);
    span->attrs_dropped = range->attrs_dropped;
    ranges_attributes(span, range->text, range->text_bytes, range->name_bytes, range->attr_count, c->keys,
                      &keys);
    if (end) {
        span->status = end->status;
        snprintf(c->message, sizeof c->message, "%.*s", end->name_bytes, end->text);
        span->status_message = *c->message ? c->message : NULL;
        span->attrs_dropped += end->attrs_dropped;
        ranges_attributes(span, end->text, end->text_bytes, end->name_bytes, end->attr_count, c->keys, &keys);
    }
    ranges_events(range, &c->range_events, span);
    cover(c, &range->parent, span->start_ns, span->end_ns);
    emit(c);
    ranges_remove(c->ranges, range);
}

static void begin_range(struct correlate *c, const struct thread_info *thread,
                        const struct range_record *record)
{
    struct worker *worker = worker_of(c, thread, record->time_ns);
    struct range *range = ranges_begin(c->ranges, thread, record);
    if (!range)
        return;
    range->parent = parent_of(c, worker, record->time_ns);
    memcpy(range->context, worker->context, sizeof range->context);
    const struct range_record *early = ranges_take_end(c->ranges, record->id);
    if (early)
        close_range(c, range, early->time_ns, early);
    else if (record->flags & RANGE_ON_THREAD)
        worker_push(worker, record->id);
}

static void end_range(struct correlate *c, const struct range_record *record)
{
    struct range *range = ranges_find(c->ranges, record->id);
    if (!range) {
        ranges_keep_end(c->ranges, record);
        return;
    }
    struct worker *worker = workers_at(c->workers, range->thread.slot);
    if (worker->serial == range->thread.serial)
        worker_remove(worker, range->id);
    close_range(c, range, record->time_ns, record);
}

/* An event of the range that the thread is in, or else a span of its own. */
static void mark(struct correlate *c, const struct thread_info *thread, const struct range_record *record)
{
    struct worker *worker = worker_of(c, thread, record->time_ns);
    struct range *range = innermost_range(c, worker);
    if (range) {
        ranges_add_mark(range, record);
        return;
    }
    struct span *span = &c->span;
    struct parent parent = parent_of(c, worker, record->time_ns);
    uint32_t keys = 0;
    if (!parent.is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        return;
    }
    begin_span(span, record->time_ns, record->time_ns + 1);
    session_next_span_id(&c->session, span->span_id);
    put_below_parent(c, span, &parent);
    span->name = record->text;
    span->name_len = record->name_bytes;
    span_attr_string(span, &key_range, "mark");
    put_thread(c, span, thread);
    span_attr_bool(span, &key_instant, true);
    ranges_attributes(span, record->text, record->text_bytes, record->name_bytes, record->attr_count, c->keys,
                      &keys);
    cover(c, &parent, span->start_ns, span->end_ns);
    emit(c);
}

void correlate_range(struct correlate *c, const struct thread_info *thread, const struct range_record *record)
{
    if (record->head.type == RECORD_RANGE_BEGIN)
        begin_range(c, thread, record);
    else if (record->head.type == RECORD_RANGE_END)
        end_range(c, record);
    else
        mark(c, thread, record);
}

void correlate_name(struct correlate *c, const struct thread_info *thread, const struct name_record *name)
{
    (void)thread;
    objects_name(c->objects, (enum named_object)name->head.cbid, name->handle, name->name, name->name_bytes);
}

/* --- activity
 * ------------------------------------------------------------------------------------------------------ */

static void learn_device(struct correlate *c, const struct activity_record *record)
{
    struct resource resource = {0};
    uint32_t device = record->device_id;
    enum status status = record->kind == ACTIVITY_DEVICE ? devices_describe(record, &device, &resource)
                                                         : devices_describe_unknown(device, &resource);
    if (status == STATUS_OK && device < DEVICES_MAX) {
        c->devices.is_known[device] = true;
        devices_note(&c->devices, device, &resource);
        c->sink.on_device(c->sink.context, (uint16_t)RESOURCE_DEVICE(device), &resource);
    }
    resource_deinit(&resource);
}

static uint16_t resource_of(struct correlate *c, const struct activity_record *record)
{
    if (record->device_id >= DEVICES_MAX || !activity_table[record->kind].is_gpu_work)
        return RESOURCE_PROCESS;
    if (!c->devices.is_known[record->device_id])
        learn_device(c, record);
    return (uint16_t)RESOURCE_DEVICE(record->device_id);
}

/* Few names, as OpenTelemetry asks: kernels by their short name, copies by direction, the rest by kind. */
static void name_activity(struct correlate *c, const struct activity_record *record)
{
    static char text[64];
    struct span *span = &c->span;
    const char *kind = activity_table[record->kind].name, *detail = NULL;
    if (record->kind == ACTIVITY_KERNEL && record->name) {
        const struct kernel_name *name = names_resolve(c->names, record->name);
        span->name = name->text;
        span->name_len = name->text_len;
        span_attr_bytes(span, &key_kernel_name, name->full, name->full_len);
        return;
    }
    if (record->kind == ACTIVITY_MEMCPY || record->kind == ACTIVITY_MEMCPY_PEER)
        detail = attributes_enum_value(record, "cuda.memcpy.kind");
    else if (record->kind == ACTIVITY_OVERHEAD)
        detail = attributes_enum_value(record, "cuda.overhead.kind");
    else if (record->kind == ACTIVITY_SYNCHRONIZATION)
        detail = attributes_enum_value(record, "cuda.synchronization.type");
    span->name_len = (uint32_t)snprintf(text, sizeof text, detail ? "%s %s" : "%s", kind, detail);
    span->name = text;
}

/* The GPU's clock is converted by CUPTI; a start before the call is kept as it came, and shown in the
 * counters. */
static void note_delay(struct span *span, const struct pending_call *call, bool is_gpu_work)
{
    if (!is_gpu_work)
        return;
    int64_t delay_ns = (int64_t)(span->start_ns - call->start_ns);
    if (delay_ns < 0) {
        counter_add(COUNTER_clock_skew, 1);
        counter_max(COUNTER_clock_skew_max_ns, (uint64_t)-delay_ns);
    }
    span_attr_int(span, &key_delay, delay_ns);
}

/* Something that happened, with no length of its own: kinds of one timestamp, and such records of others as a
 * page fault on the host, whose end is 0. GPU work always has a length. */
static bool is_moment(const struct activity_record *record)
{
    const struct activity_info *info = &activity_table[record->kind];
    return !info->is_interval || (record->end_ns == 0 && !info->is_gpu_work);
}

static void mark_length(struct span *span, const struct activity_record *record)
{
    if (record->end_ns > record->start_ns)
        return;
    span->end_ns = record->start_ns + 1;
    if (is_moment(record)) {
        span_attr_bool(span, &key_instant, true);
    } else {
        span_attr_bool(span, &key_zero_length, true);
        counter_add(COUNTER_zero_length, 1);
    }
}

/* An execution has its graph's number of nodes; a node leads to the call that captured it. */
static void describe_graph(struct correlate *c, const struct activity_record *record)
{
    struct span *span = &c->span;
    uint32_t nodes =
        record->kind == ACTIVITY_GRAPH_TRACE ? graphs_nodes_launched(c->graphs, record->correlation_id) : 0;
    if (nodes)
        span_attr_int(span, &key_graph_nodes, nodes);
    if (!record->graph_node_id || !graphs_link_nodes(c->graphs))
        return;
    if (!graphs_capture_of(c->graphs, record->graph_node_id, &c->links[0])) {
        counter_add(COUNTER_graph_nodes_unlinked, 1);
        return;
    }
    c->links[0].attr =
        (struct span_attr){.key = &key_link, .type = ATTR_STRING, .len = strlen("capture"), .s = "capture"};
    span->links = c->links;
    span->link_count = 1;
}

/* If it still has one. */
static void put_name_of_stream(struct correlate *c, uint32_t index)
{
    const char *name = objects_text(c->objects, index);
    if (name)
        span_attr_string(&c->span, &key_stream_name, name);
}

/* `call` NULL: it is not known, and the session is the parent. */
static void emit_activity(struct correlate *c, const struct activity_record *record,
                          struct pending_call *call)
{
    struct span *span = &c->span;
    const struct activity_info *info = &activity_table[record->kind];
    uint16_t resource = resource_of(c, record);
    /* With a call its trace is settled: no session is begun or cut for it. */
    struct session *session = call ? &c->session : session_at(c, record->start_ns);
    if (call ? (call->flags & PENDING_UNSAMPLED) != 0 : !session->is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        session->spans += session->is_open && !session->is_sampled;
        return;
    }
    begin_span(span, record->start_ns, record->end_ns);
    session_next_span_id(session, span->span_id);
    span->resource = resource;
    if (call)
        put_below(c, span, call->trace_id, call->span_id, (call->flags & PENDING_TRACE_FLAGS) | 0x100u,
                  call->trace_state);
    else
        put_below(c, span, session->trace_id, session->span_id, session->flags | 0x100u,
                  session->trace_state);
    span_attr_string(span, &key_activity, info->name);
    name_activity(c, record);
    attributes_of_activity(span, &c->plan, record);
    if (record->stream_id && devices_is_null_stream(&c->devices, record->context_id, record->stream_id))
        span_attr_bool(span, &key_null_stream, true);
    if (call && call->flags >> PENDING_STREAM_SHIFT)
        put_name_of_stream(c, call->flags >> PENDING_STREAM_SHIFT);
    if (call)
        note_delay(span, call, info->is_gpu_work);
    else if (info->is_gpu_work)
        span_attr_bool(span, &key_orphan, true);
    devices_add_ends(&c->devices, record, span);
    describe_graph(c, record);
    mark_length(span, record);
    if (session->is_open && (!call || memcmp(call->trace_id, session->trace_id, 16) == 0))
        session_cover(session, span->start_ns, span->end_ns);
    emit(c);
}

static void give_up(struct correlate *c, const struct activity_record *record)
{
    if (activity_table[record->kind].is_gpu_work)
        counter_add(COUNTER_orphans, 1);
    emit_activity(c, record, NULL);
}

static struct pending_call *find_call(struct correlate *c, const struct activity_record *record)
{
    struct pending_call *call =
        record->correlation_id ? pending_find(c->pending, record->correlation_id, record->start_ns) : NULL;
    if (call)
        pending_answer(c->pending, call);
    return call;
}

/* Timestamps of zero mean that CUPTI had no room on the device to take them; an end before the start is
 * worse. */
static bool has_times(const struct activity_record *record)
{
    static bool said;
    if (record->start_ns == 0 || (record->end_ns == 0 && !is_moment(record))) {
        counter_add(COUNTER_lost_zero_timestamps, 1);
        return false;
    }
    if (record->end_ns >= record->start_ns || is_moment(record))
        return true;
    counter_add(COUNTER_lost_malformed, 1);
    if (!said)
        log_warn("CUPTI gives activity that ends before it starts; such records are left out and counted");
    said = true;
    return false;
}

static bool is_filtered(struct correlate *c, const struct activity_record *record)
{
    const struct filter *kernels = &c->settings->capture.kernels;
    if (!filter_passes(&c->settings->capture.activities, activity_table[record->kind].name, NULL))
        return true; /* a kind that CUPTI switches on together with another */
    if (record->kind != ACTIVITY_KERNEL || (!kernels->allow.count && !kernels->deny.count) || !record->name)
        return false;
    const struct kernel_name *name = names_resolve(c->names, record->name);
    return !filter_passes(kernels, name->text, name->full);
}

void correlate_activity(struct correlate *c, const struct activity_record *record)
{
    if (record->kind == ACTIVITY_DEVICE) {
        learn_device(c, record);
        return;
    }
    if (record->kind == ACTIVITY_CONTEXT) {
        devices_note_context(&c->devices, record);
        return;
    }
    if (!c->plan.has_start[record->kind])
        return; /* a fact, which makes no span */
    if (is_filtered(c, record)) {
        counter_add(COUNTER_spans_filtered, 1);
        return;
    }
    struct pending_call *call = find_call(c, record);
    if (!has_times(record))
        return;
    bool may_come = c->expects_calls && record->correlation_id && activity_table[record->kind].is_gpu_work;
    if (call)
        emit_activity(c, record, call);
    else if (!may_come || !waiting_push(c->waiting, record, c->now_ns))
        give_up(c, record);
}

/* --- between rounds
 * ------------------------------------------------------------------------------------------------ */

static bool sweep_one(void *context, const struct activity_record *record, uint64_t since_ns)
{
    struct correlate *c = context;
    struct pending_call *call = find_call(c, record);
    if (call)
        emit_activity(c, record, call);
    else if (c->now_ns >= since_ns + c->settings->correlation.wait_ms * NS_PER_MS)
        give_up(c, record);
    else
        return false;
    return true;
}

void correlate_tick(struct correlate *c, uint64_t now_ns)
{
    c->now_ns = now_ns;
    if (now_ns < c->next_sweep_ns)
        return;
    c->next_sweep_ns = now_ns + SWEEP_INTERVAL_NS;
    if (!waiting_is_empty(c->waiting))
        waiting_sweep(c->waiting, sweep_one, c);
    if (c->session.is_open && session_is_due(&c->session, clock_now_ns()))
        close_session(c, c->session.spans >= c->session.options.spans_max ? "spans" : "age");
}

static bool give_up_one(void *context, const struct activity_record *record, uint64_t since_ns)
{
    struct correlate *c = context;
    struct pending_call *call = find_call(c, record);
    (void)since_ns;
    if (call)
        emit_activity(c, record, call);
    else
        give_up(c, record);
    return true;
}

uint32_t correlate_waiting(const struct correlate *c)
{
    return pending_waiting(c->pending);
}

static void end_unended(void *context, struct range *range)
{
    close_range(context, range, clock_now_ns(), NULL);
}

void correlate_finish(struct correlate *c)
{
    waiting_sweep(c->waiting, give_up_one, c);
    pending_finish(c->pending);
    ranges_visit(c->ranges, end_unended, c);
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
