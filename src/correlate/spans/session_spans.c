#include "correlate/spans/session_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "correlate/state.h"

#include <string.h>

/* A session that waits for its calls' GPU records. */
struct ended_session {
    struct span span;
    struct span_link links[SPAN_LINKS_MAX];
    struct span_event events[];
};

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

static void emit_ended(struct correlate *c, struct account *account, const void *body)
{
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
    session_close(&c->sessions.current, reason, span, links);
    if (c->sessions.current.is_sampled)
        session_overhead_write(&c->sessions.overhead, c->options.take_overhead, span);
}

/* False: the queue is full. Must come before the span is made: the queue may evict others, which use the
 * same scratch. */
static bool linger(struct correlate *c, const struct account *account, const char *reason)
{
    size_t event_bytes = c->sessions.current.event_count * sizeof *c->sessions.current.events;
    size_t bytes_all = (uint32_t)(sizeof(struct ended_session) + event_bytes);
    struct ended_session *kept = counting_linger(c, account, bytes_all, emit_ended);
    if (!kept)
        return false;
    end_session(c, reason, &kept->span, kept->links);
    memcpy(kept->events, c->sessions.current.events, event_bytes);
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
