#include "correlate/thread_events.h"

#include "correlate/state.h"

#include <string.h>

struct thread_state *thread_events_state(struct correlate *c, const struct thread_info *thread,
                                         uint64_t now_ns)
{
    struct thread_state *state = &c->threads.states[thread->slot % THREADS_MAX];
    if (state->serial != thread->serial) {
        while (state->depth > 0) {
            struct range *range = ranges_find(&c->ranges.open, state->open[--state->depth]);
            if (range)
                range_spans_close(c, range, state->seen_ns, NULL);
        }
        counting_release(c, state);
        memset(state, 0, offsetof(struct thread_state, open));
        state->serial = thread->serial;
    }
    if (now_ns > state->seen_ns)
        state->seen_ns = now_ns;
    return state;
}

struct range *thread_events_innermost_range(struct correlate *c, const struct thread_state *state)
{
    for (uint32_t i = state->depth; i > 0; i--) {
        struct range *range = ranges_find(&c->ranges.open, state->open[i - 1]);
        if (range && memcmp(range->context, state->context, sizeof range->context) == 0)
            return range;
    }
    return NULL;
}

struct parent thread_events_parent(struct correlate *c, struct thread_state *state, uint64_t time_ns)
{
    const struct range *range = thread_events_innermost_range(c, state);
    struct parent parent = {.is_session = false};
    uint32_t request = 0;
    if (c->is_summary && state->has_context && state->is_sampled)
        request = counting_hold(c, state);
    if (range) {
        parent = range->parent;
        if (!range->is_left_out)
            memcpy(parent.span_id, &range->id, 8);
        parent.flags |= SPAN_FLAG_REMOTE_KNOWN;
        parent.account = range->account ? range->account : range->parent.account;
    } else if (state->has_context) {
        memcpy(parent.trace_id, state->context, 16);
        memcpy(parent.span_id, state->context + 16, 8);
        parent.is_sampled = state->is_sampled;
        parent.flags = (state->flags & TRACE_FLAG_RANDOM) | (parent.is_sampled ? TRACE_FLAG_SAMPLED : 0u);
        parent.trace_state = state->trace_state;
        parent.account = request;
    } else {
        const struct session *session = session_spans_at(c, time_ns);
        memcpy(parent.trace_id, session->trace_id, 16);
        memcpy(parent.span_id, session->span_id, 8);
        parent.flags = session->flags | SPAN_FLAG_REMOTE_KNOWN;
        parent.trace_state = session->trace_state;
        parent.is_sampled = session->is_sampled;
        parent.is_session = true;
        parent.account = session->account;
    }
    return parent;
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
    if (c->options.settings->sampler_parent_based)
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

void correlate_context(struct correlate *c, const struct thread_info *thread,
                       const struct context_record *attached)
{
    static const uint8_t none[24];
    struct thread_state *state = thread_events_state(c, thread, attached->time_ns);
    struct trace_context context = {.flags = attached->flags};
    char trace_state[TRACE_STATE_MAX] = "";
    counting_release(c, state);
    memcpy(state->context, attached->trace_id, 16);
    memcpy(state->context + 16, attached->span_id, 8);
    state->has_context = memcmp(state->context, none, sizeof none) != 0;
    state->flags = attached->flags;
    state->trace_state = NULL;
    if (!state->has_context)
        return;
    memcpy(context.trace_id, attached->trace_id, 16);
    memcpy(context.span_id, attached->span_id, 8);
    memcpy(context.trace_state, attached->state,
           attached->state_bytes < TRACE_STATE_MAX ? attached->state_bytes : 0);
    state->is_sampled = sample_context(c, &context, attached->time_ns, trace_state);
    state->trace_state =
        tracestates_keep(&c->threads.tracestates, attached->trace_id, trace_state, strlen(trace_state));
}

void correlate_name(struct correlate *c, const struct name_record *name)
{
    if (name->head.cbid == NAMED_CONTEXT_ID) {
        devices_note_handle(&c->devices, name->id, name->handle);
        return;
    }
    if (name->head.cbid > NAMED_CONTEXT_ID)
        return; /* from a recording of a later version */
    named_objects_name(&c->objects, (enum named_object)name->head.cbid, name->handle, name->name,
                       name->name_bytes);
    if (name->head.cbid == NAMED_DEVICE)
        activity_spans_name_device(c, name->handle);
}
