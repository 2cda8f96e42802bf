#include "correlate/trace/thread_events.h"

#include "correlate/state.h"
#include "correlate/trace/named_objects.h"
#include "correlate/trace/tracestates.h"

#include <string.h>

enum status thread_events_init(struct thread_events *threads)
{
    enum status status = thread_states_create(&threads->workers);
    return status == STATUS_OK ? tracestates_create(&threads->states) : status;
}

void thread_events_deinit(struct thread_events *threads)
{
    thread_states_destroy(threads->workers);
    tracestates_destroy(threads->states);
}

struct thread_state *work_of(struct correlate *c, const struct thread_info *thread, uint64_t now_ns)
{
    struct thread_state *worker = thread_states_at(c->threads.workers, thread->slot);
    if (worker->serial != thread->serial) {
        while (worker->depth > 0) {
            struct range *range = ranges_find(c->ranges.open, worker->open[--worker->depth]);
            if (range)
                range_spans_close(c, range, worker->seen_ns, NULL);
        }
        counting_release(c, worker);
        thread_state_reset(worker, thread);
    }
    if (now_ns > worker->seen_ns)
        worker->seen_ns = now_ns;
    return worker;
}

struct range *work_innermost_range(const struct correlate *c, const struct thread_state *worker)
{
    for (uint32_t i = worker->depth; i > 0; i--) {
        struct range *range = ranges_find(c->ranges.open, worker->open[i - 1]);
        if (range && memcmp(range->context, worker->context, sizeof range->context) == 0)
            return range;
    }
    return NULL;
}

struct parent work_parent(struct correlate *c, struct thread_state *worker, uint64_t time_ns)
{
    const struct range *range = work_innermost_range(c, worker);
    struct parent parent = {.is_session = false};
    uint32_t request = 0;
    if (c->is_summary && worker->has_context && worker->is_sampled)
        request = counting_hold(c, worker);
    if (range) {
        parent = range->parent;
        memcpy(parent.span_id, &range->id, 8);
        parent.flags |= SPAN_FLAG_REMOTE_KNOWN;
        parent.account = range->account ? range->account : range->parent.account;
    } else if (worker->has_context) {
        memcpy(parent.trace_id, worker->context, 16);
        memcpy(parent.span_id, worker->context + 16, 8);
        parent.is_sampled = worker->is_sampled;
        parent.flags = (worker->flags & TRACE_FLAG_RANDOM) | (parent.is_sampled ? TRACE_FLAG_SAMPLED : 0u);
        parent.trace_state = worker->trace_state;
        parent.account = request;
    } else {
        const struct session *session = session_spans_at(c, time_ns);
        memcpy(parent.trace_id, session->trace_id, 16);
        memcpy(parent.span_id, session->span_id, 8);
        parent.flags = session->flags | SPAN_FLAG_REMOTE_KNOWN;
        parent.trace_state = session->trace_state;
        parent.is_sampled = session->is_sampled;
        parent.is_session = true;
        parent.account = c->sessions.account;
    }
    return parent;
}

void work_cover(struct correlate *c, const struct parent *parent, uint64_t start_ns, uint64_t end_ns)
{
    if (parent->is_session && c->sessions.current.is_open &&
        memcmp(c->sessions.current.trace_id, parent->trace_id, 16) == 0)
        session_cover(&c->sessions.current, start_ns, end_ns);
}

/* A trace keeps its decision when it is attached again, on any thread: the limit counts traces. */
static struct decision *decision_of(struct correlate *c, const uint8_t trace_id[16])
{
    uint64_t low;
    memcpy(&low, trace_id + 8, sizeof low);
    return &c->threads.decisions[(low * 0x9e3779b97f4a7c15ull >> 32) % DECISIONS_KEPT];
}

static bool sample_context(struct correlate *c, const struct trace_context *context, uint64_t time_ns,
                           char trace_state[TRACE_STATE_MAX])
{
    struct decision *decision = decision_of(c, context->trace_id);
    if (c->settings->sampler_parent_based)
        return sampler_decide(&c->sessions.current.sampler, context, context->trace_id, time_ns, trace_state);
    if (memcmp(decision->trace_id, context->trace_id, 16) == 0) {
        strcpy(trace_state, context->trace_state);
        return decision->is_sampled;
    }
    memcpy(decision->trace_id, context->trace_id, 16);
    decision->is_sampled =
        sampler_decide(&c->sessions.current.sampler, context, context->trace_id, time_ns, trace_state);
    return decision->is_sampled;
}

void thread_events_attach(struct correlate *c, const struct thread_info *thread,
                          const struct context_record *attached)
{
    static const uint8_t none[24];
    struct thread_state *worker = work_of(c, thread, attached->time_ns);
    struct trace_context context = {.flags = attached->flags};
    char trace_state[TRACE_STATE_MAX] = "";
    counting_release(c, worker);
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
    worker->trace_state =
        tracestates_keep(c->threads.states, attached->trace_id, trace_state, strlen(trace_state));
}

void thread_events_name(struct correlate *c, const struct name_record *name)
{
    if (name->head.cbid == NAMED_CONTEXT_ID) {
        devices_note_handle(&c->devices, name->id, name->handle);
        return;
    }
    if (name->head.cbid > NAMED_CONTEXT_ID)
        return; /* from a recording of a later version */
    named_objects_name(c->objects, (enum named_object)name->head.cbid, name->handle, name->name,
                       name->name_bytes);
    if (name->head.cbid == NAMED_DEVICE)
        activity_spans_name_device(c, name->handle);
}
