#include "agent/correlate/range_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "model/semconv.h"

#include <string.h>

static void emit_range(struct correlate *c, const struct range *range, struct account *account,
                       uint64_t end_ns, const struct range_record *end)
{
    struct span *span = &c->ended.span;
    uint32_t keys = 0;
    span_begin(span, range->start.time_ns, end_ns);
    memcpy(span->span_id, &range->id, 8);
    spans_put_below_parent(c, span, &range->parent);
    span->name = range->start.text;
    span->name_len = range->start.name_bytes;
    span_attr_string(span, ATTR(SEMCONV_CUDA_RANGE_KIND),
                     range->start.flags & RANGE_ON_THREAD ? "range" : "span");
    spans_put_thread(c, span, &range->thread);
    if (!end)
        span_attr_bool(span, ATTR(SEMCONV_CUDA_RANGE_UNENDED), true);
    span->attrs_dropped = range->start.attrs_dropped;
    ranges_attributes(span, &range->start, c->ranges.keys, &keys);
    if (end) {
        span->status = end->status;
        size_t bytes = end->name_bytes < RANGE_TEXT_BYTES ? end->name_bytes : RANGE_TEXT_BYTES;
        memcpy(c->ranges.message, end->text, bytes);
        c->ranges.message[bytes] = 0;
        span->status_message = *c->ranges.message ? c->ranges.message : NULL;
        span->attrs_dropped += end->attrs_dropped;
        ranges_attributes(span, end, c->ranges.keys, &keys);
    }
    ranges_events(range, &c->ranges.events, span);
    if (account)
        counting_emit(c, account, c->ranges.events.events, RANGE_EVENTS_MAX);
    else
        spans_emit(c, span);
}

/* The body of a lingering range. `range` holds the used parts of struct range: up to the end of its text,
 * then its marks. The record of its end follows, aligned to 8. */
struct ended_range {
    uint64_t end_ns;
    uint32_t end_at; /* offset of the end's record; 0: the program did not end the range */
    uint32_t reserved;
    char range[];
};

static uint32_t used_bytes(const struct range *range)
{
    return (uint32_t)offsetof(struct range, start) + range_record_bytes(&range->start);
}

static void emit_ended(struct correlate *c, struct account *account, const void *body)
{
    const struct ended_range *ended = body;
    struct range *range = &c->ranges.ended;
    const void *end = ended->end_at ? (const char *)body + ended->end_at : NULL;
    memcpy(range, ended->range, offsetof(struct range, start) + sizeof range->start);
    memcpy(range, ended->range, used_bytes(range));
    memcpy(range->marks, ended->range + used_bytes(range), range->marks_bytes);
    emit_range(c, range, account, ended->end_ns, end);
}

static bool linger(struct correlate *c, const struct range *range, const struct account *account,
                   uint64_t end_ns, const struct range_record *end)
{
    uint32_t used = used_bytes(range);
    uint32_t bytes = (uint32_t)sizeof(struct ended_range) + used + range->marks_bytes;
    uint32_t end_at = (bytes + 7) & ~7u;
    struct ended_range *kept =
        counting_linger(c, account, end ? end_at + end->head.bytes : bytes, emit_ended);
    if (!kept)
        return false;
    *kept = (struct ended_range){.end_ns = end_ns, .end_at = end ? end_at : 0};
    memcpy(kept->range, range, used);
    memcpy(kept->range + used, range->marks, range->marks_bytes);
    if (end)
        memcpy((char *)kept + end_at, end, end->head.bytes);
    return true;
}

void range_spans_close(struct correlate *c, struct range *range, uint64_t end_ns,
                       const struct range_record *end)
{
    struct account *account = accounts_find(c->counting.accounts, range->account);
    uint64_t start_ns = range->start.time_ns;
    end_ns = end_ns > start_ns ? end_ns : start_ns + 1;
    if (!range->parent.is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
    } else if (range->is_left_out) {
        counting_leave_out(c, range->parent.account);
    } else {
        session_spans_cover(c, &range->parent, start_ns, end_ns);
        if (!account || !account->due || !linger(c, range, account, end_ns, end)) {
            emit_range(c, range, account, end_ns, end);
            if (account)
                accounts_close(c->counting.accounts, account);
        }
    }
    ranges_remove(&c->ranges.open, range);
}

void range_spans_admit(struct correlate *c, struct range *range, bool is_collective)
{
    struct step *step = step_spans_limit_of(c, &range->parent, range->start.time_ns);
    if (c->sessions.steps.count)
        step_spans_note(c, &range->parent, range->start.time_ns, false, is_collective);
    range->is_left_out = !step_spans_takes_call(c, step, false);
    if (!range->parent.is_sampled || range->is_left_out)
        return;
    step_spans_reserve(c, step, STEP_SPAN_BYTES + range->start.text_bytes, range->parent.account);
    range->account = counting_open(c, range->parent.account);
}

void range_spans_mark(struct correlate *c, const struct thread_info *thread,
                      const struct range_record *record, const struct parent *parent)
{
    struct span *span = &c->ended.span;
    struct step *step = step_spans_limit_of(c, parent, record->time_ns);
    uint32_t keys = 0;
    if (!parent->is_sampled) {
        counter_add(COUNTER_spans_unsampled, 1);
        return;
    }
    if (!step_spans_takes_call(c, step, false)) {
        counting_leave_out(c, parent->account);
        return;
    }
    span_begin(span, record->time_ns, record->time_ns + 1);
    session_next_span_id(&c->sessions.current, span->span_id);
    spans_put_below_parent(c, span, parent);
    span->name = record->text;
    span->name_len = record->name_bytes;
    span_attr_string(span, ATTR(SEMCONV_CUDA_RANGE_KIND), "mark");
    spans_put_thread(c, span, thread);
    span_attr_bool(span, ATTR(SEMCONV_CUDA_INSTANT), true);
    ranges_attributes(span, record, c->ranges.keys, &keys);
    session_spans_cover(c, parent, span->start_ns, span->end_ns);
    step_spans_emit(c, step, span, parent->account);
}

static void end_unended(void *context, struct range *range)
{
    range_spans_close(context, range, clock_now_ns(), NULL);
}

void range_spans_finish(struct correlate *c)
{
    ranges_visit(&c->ranges.open, end_unended, c);
}
