#include "agent/correlate/thread_events.h"

#include "base/accounting/counters.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/join/collectives.h"
#include "agent/correlate/range_spans.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/state.h"

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

/* Returns the innermost open range that started in the thread's current context; NULL: none. */
static struct range *innermost_range(struct correlate *c, const struct thread_state *state)
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
    const struct range *range = innermost_range(c, state);
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
        parent.account = request || !state->account
                             ? request
                             : session_spans_account_of_iteration(c, state->context, state->seen_ns);
    } else {
        const struct session *session = session_spans_at(c, time_ns, state->seen_ns);
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

void thread_events_context(struct correlate *c, const struct thread_info *thread,
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
    state->account = 0;
    if (!state->has_context)
        return;
    memcpy(context.trace_id, attached->trace_id, 16);
    memcpy(context.span_id, attached->span_id, 8);
    memcpy(context.trace_state, attached->state,
           attached->state_bytes < TRACE_STATE_MAX ? attached->state_bytes : 0);
    state->account = session_spans_account_of_iteration(c, context.trace_id, attached->time_ns);
    state->is_sampled = state->account
                            ? (context.flags & TRACE_FLAG_SAMPLED) != 0
                            : sampler_decide_once(&c->sessions.current.sampler, &c->threads.decisions,
                                                  &context, attached->time_ns, trace_state);
    state->trace_state =
        tracestates_keep(&c->threads.tracestates, attached->trace_id, trace_state, strlen(trace_state));
}

static void remove_from_thread(struct thread_state *state, uint64_t id)
{
    for (uint32_t i = state->depth; i > 0; i--) {
        if (state->open[i - 1] != id)
            continue;
        state->depth--;
        memmove(&state->open[i - 1], &state->open[i], (state->depth - (i - 1)) * sizeof *state->open);
        return;
    }
}

/* Removes the range from its thread's open ranges, so that it gets no more children. */
static void leave_thread(struct correlate *c, const struct range *range)
{
    struct thread_state *state = &c->threads.states[range->thread.slot % THREADS_MAX];
    if (state->serial == range->thread.serial)
        remove_from_thread(state, range->id);
    if (c->collectives && collectives_is_nccl(&range->start))
        collectives_end(c->collectives, &range->thread, &range->start);
}

static void close_unended(struct correlate *c, struct range *range, uint64_t end_ns)
{
    leave_thread(c, range);
    range_spans_close(c, range, end_ns, NULL);
}

static void begin_range(struct correlate *c, const struct thread_info *thread,
                        const struct range_record *record)
{
    struct thread_state *state = thread_events_state(c, thread, record->time_ns);
    bool is_ended = ranges_take_end(&c->ranges.open, record->id, &c->ranges.early);
    struct range *unended = ranges_make_room(&c->ranges.open);
    if (unended)
        close_unended(c, unended, record->time_ns);
    struct range *range = ranges_begin(&c->ranges.open, thread, record);
    if (!range)
        return;
    bool is_nccl = !c->is_summary && collectives_is_nccl(record);
    if (is_nccl)
        collectives_begin(&c->collectives, thread, record);
    range->parent = thread_events_parent(c, state, record->time_ns);
    memcpy(range->context, state->context, sizeof range->context);
    range_spans_admit(c, range, is_nccl && collectives_is_operation(record));
    if (is_ended)
        range_spans_close(c, range, c->ranges.early.time_ns, &c->ranges.early);
    else if (record->flags & RANGE_ON_THREAD && state->depth < RANGE_PARENTS_MAX)
        state->open[state->depth++] = record->id;
}

static void end_range(struct correlate *c, const struct range_record *record)
{
    struct range *range = ranges_find(&c->ranges.open, record->id);
    if (!range) {
        ranges_keep_end(&c->ranges.open, record);
        return;
    }
    leave_thread(c, range);
    range_spans_close(c, range, record->time_ns, record);
}

/* A mark becomes an event of the innermost range, or else a span. */
static void mark(struct correlate *c, const struct thread_info *thread, const struct range_record *record)
{
    struct thread_state *state = thread_events_state(c, thread, record->time_ns);
    struct range *range = innermost_range(c, state);
    counter_add_alone(COUNTER_marks_captured, 1);
    if (collectives_note_plugin(c->collectives, thread, record)) {
        counter_add_alone(COUNTER_facts, 1);
        return;
    }
    if (range && range->is_left_out) {
        counting_leave_out(c, range->parent.account);
        return;
    }
    if (range) {
        ranges_add_mark(range, record);
        counter_add_alone(COUNTER_marks_as_events, 1);
        return;
    }
    struct parent parent = thread_events_parent(c, state, record->time_ns);
    range_spans_mark(c, thread, record, &parent);
}

void thread_events_range(struct correlate *c, const struct thread_info *thread,
                         const struct range_record *record)
{
    if (record->head.type == RECORD_RANGE_BEGIN)
        begin_range(c, thread, record);
    else if (record->head.type == RECORD_RANGE_END)
        end_range(c, record);
    else
        mark(c, thread, record);
}
