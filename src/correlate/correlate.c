#include "correlate/correlate.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "correlate/attributes.h"
#include "correlate/devices.h"
#include "correlate/names.h"
#include "correlate/pending.h"
#include "correlate/session.h"
#include "correlate/waiting.h"

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
static const struct attr_key key_module_id = ATTR_KEY("cuda.module.id");
static const struct attr_key key_module_bytes = ATTR_KEY("cuda.module.bytes");
static const struct attr_key key_context_handle = ATTR_KEY("cuda.context.handle");

struct held_resource {
    uint64_t tid; /* 0: free */
    struct span_event event;
};

struct correlate {
    const struct settings *settings;
    struct correlate_sink sink;
    bool expects_calls, expects_graphs;
    struct session session;
    struct pending_table *pending;
    struct waiting_queue *waiting;
    struct names *names;
    struct devices devices;
    struct attribute_plan plan;
    struct held_resource held[RESOURCES_HELD]; /* events on their way to the call that they happened in */
    uint64_t next_sweep_ns, now_ns;
    struct span span; /* the scratch span */
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event call_events[8];
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
        names_create(NAMES_BYTES, &made->names) != STATUS_OK) {
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
    session_open(&c->session, time_ns);
    return &c->session;
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

static void put_below(struct span *span, const uint8_t *trace_id, const uint8_t *parent_span_id,
                      uint32_t flags, const char *trace_state)
{
    memcpy(span->trace_id, trace_id, 16);
    memcpy(span->parent_span_id, parent_span_id, 8);
    span->flags = (flags & PENDING_TRACE_FLAGS) | 0x100u;
    span->trace_state = trace_state;
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

static void remember(struct correlate *c, const struct call_record *call, const struct session *session,
                     uint32_t expected)
{
    struct pending_call *pending = pending_insert(c->pending, call->correlation_id);
    pending->flags = session->flags | expected | (session->is_sampled ? 0 : PENDING_UNSAMPLED);
    memcpy(pending->trace_id, session->trace_id, 16);
    memcpy(pending->span_id, c->span.span_id, 8);
    pending->start_ns = call->start_ns;
    pending->trace_state = session->trace_state;
}

void correlate_call(struct correlate *c, const struct thread_info *thread, const struct call_record *call)
{
    enum call_domain domain = (enum call_domain)call->head.domain;
    const struct call_info *info = call_info(domain, call->head.cbid);
    if (!info)
        return;
    struct session *session = session_at(c, call->start_ns);
    struct span *span = &c->span;
    begin_span(span, call->start_ns, call->end_ns > call->start_ns ? call->end_ns : call->start_ns + 1);
    session_next_span_id(session, span->span_id);
    if (call->correlation_id)
        remember(c, call, session, expectations(c, call, info));
    take_events(c, thread->tid, span->start_ns, span->end_ns);
    session_cover(session, span->start_ns,
                  span->end_ns); /* unsampled ones, too: sessions end after as many spans */
    if (!session->is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        return;
    }
    put_below(span, session->trace_id, session->span_id, session->flags, session->trace_state);
    span->name = call_name(info);
    span->name_len = (uint32_t)strlen(span->name);
    span_attr_string(span, &key_api, domain == CALL_RUNTIME ? "runtime" : "driver");
    span_attr_int(span, &key_thread_id, (int64_t)thread->tid);
    if (*thread->name)
        span_attr_string(span, &key_thread_name, thread->name);
    span_attr_int(span, &key_context, call->context_id);
    span_attr_int(span, &key_correlation, call->correlation_id);
    attributes_of_call(span, info, call);
    if (call->result != 0)
        set_error(span, domain, call->result);
    emit(c);
}

void correlate_resource(struct correlate *c, const struct thread_info *thread,
                        const struct resource_record *resource)
{
    struct span_event event = {.time_ns = resource->time_ns};
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
        put_below(span, call->trace_id, call->span_id, call->flags, call->trace_state);
    else
        put_below(span, session->trace_id, session->span_id, session->flags, session->trace_state);
    span_attr_string(span, &key_activity, info->name);
    name_activity(c, record);
    attributes_of_activity(span, &c->plan, record);
    if (record->stream_id && devices_is_null_stream(&c->devices, record->context_id, record->stream_id))
        span_attr_bool(span, &key_null_stream, true);
    if (call)
        note_delay(span, call, info->is_gpu_work);
    else if (info->is_gpu_work)
        span_attr_bool(span, &key_orphan, true);
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
        call->flags |= PENDING_ANSWERED;
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

void correlate_finish(struct correlate *c)
{
    waiting_sweep(c->waiting, give_up_one, c);
    pending_finish(c->pending);
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
