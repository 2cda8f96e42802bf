#include "correlate/spans/session_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "correlate/state.h"

#include <string.h>

/* The session covers the work that counts for it, also GPU work after its last call. */
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

/* Of a session that waits for its calls' GPU records. */
static size_t ended_bytes(uint32_t event_count)
{
    return offsetof(struct ended_span, events) + event_count * sizeof(struct span_event);
}

static void emit_ended(struct correlate *c, struct account *account, const void *body)
{
    const struct ended_span *kept = body;
    memcpy(&c->ended, kept, ended_bytes(kept->span.event_count));
    c->ended.span.links = c->ended.links;
    c->ended.span.events = c->ended.events;
    emit_session(c, account, c->ended.events);
}

static void end_session(struct correlate *c, const char *reason, struct span *span, struct span_link *links)
{
    session_close(&c->sessions.current, reason, span, links);
    if (c->sessions.current.is_sampled)
        session_overhead_write(&c->sessions.overhead, c->options.take_overhead, span);
}

/* False: the queue is full. Must come before the span is made: the queue may evict others, which use the
 * same scratch. */
static bool linger(struct correlate *c, const struct account *account, const char *reason)
{
    const struct session *session = &c->sessions.current;
    struct ended_span *kept = counting_linger(c, account, ended_bytes(session->event_count), emit_ended);
    if (!kept)
        return false;
    end_session(c, reason, &kept->span, kept->links);
    memcpy(kept->events, session->events, session->event_count * sizeof *session->events);
    return true;
}

void correlate_end_session(struct correlate *c, const char *reason)
{
    if (!c->sessions.current.is_open)
        return;
    struct account *account = accounts_find(c->counting.accounts, c->sessions.account);
    c->sessions.account = 0;
    if (account && account->due && linger(c, account, reason))
        return;
    end_session(c, reason, &c->ended.span, c->ended.links);
    if (account)
        emit_session(c, account, c->sessions.current.events);
    else if (c->sessions.current.is_sampled)
        spans_emit(c, &c->ended.span);
    else
        counter_add_alone(COUNTER_sessions_unsampled, 1);
    if (account)
        accounts_close(c->counting.accounts, account);
}

void session_spans_end_if_due(struct correlate *c, uint64_t time_ns)
{
    if (session_is_due(&c->sessions.current, time_ns))
        correlate_end_session(c, c->sessions.current.spans >= c->options.settings->session.spans_max ? "spans"
                                                                                                     : "age");
}

struct session *session_spans_at(struct correlate *c, uint64_t time_ns)
{
    session_spans_end_if_due(c, time_ns);
    if (!c->sessions.current.is_open) {
        session_open(&c->sessions.current, time_ns);
        c->sessions.account = c->sessions.current.is_sampled ? counting_open_root(c) : 0;
        if (c->options.sink.on_session)
            c->options.sink.on_session(c->options.sink.context, c->sessions.current.trace_id,
                                       c->sessions.current.span_id, c->sessions.current.flags);
    }
    return &c->sessions.current;
}

void session_spans_cover(struct correlate *c, const struct parent *parent, uint64_t start_ns, uint64_t end_ns)
{
    if (parent->is_session && c->sessions.current.is_open &&
        memcmp(c->sessions.current.trace_id, parent->trace_id, 16) == 0)
        session_cover(&c->sessions.current, start_ns, end_ns);
}
