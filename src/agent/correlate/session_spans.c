#include "agent/correlate/session_spans.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "agent/correlate/counting.h"
#include "agent/correlate/engine_spans.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/step_spans.h"
#include "agent/correlate/totals/step_stats.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEP_ATTRS 3 /* the first attributes of a rank's span: the step's number, kind and source */

/* Emits the step's span, the parent of all ranks' spans. All ranks know its IDs, so only one rank sends it.
 * The span has no links, because Jaeger calls a trace incomplete if its root has links only. */
static void emit_step_root(struct correlate *c, const struct span *rank)
{
    struct span *span = &c->sessions.root;
    char name[32];
    int64_t number = rank->attrs[0].i; /* training.step.number */
    span_begin(span, rank->start_ns, rank->end_ns);
    memcpy(span->trace_id, rank->trace_id, 16);
    memcpy(span->span_id, rank->parent_span_id, 8);
    span->flags = (rank->flags & ~SPAN_FLAG_REMOTE) | SPAN_FLAG_REMOTE_KNOWN;
    span->name = name;
    span->name_len = (uint32_t)snprintf(name, sizeof name, "step %" PRId64, number);
    span->trace_state = rank->trace_state;
    for (uint32_t i = 0; i < STEP_ATTRS; i++)
        span->attrs[span->attr_count++] = rank->attrs[i];
    counter_add_alone(COUNTER_roots, 1);
    spans_emit(c, span);
}

/* Emits the root of the rank's detailed trace, which is the parent of all of the rank's spans. */
static void emit_detail_root(struct correlate *c, const struct span *rank)
{
    struct span *span = &c->sessions.root;
    const struct span_link *detail = &c->ended.links[0];
    struct span_link link = session_link(rank->trace_id, rank->span_id, rank->flags & 0xff, "step");
    char name[64];
    span_begin(span, rank->start_ns, rank->end_ns);
    memcpy(span->trace_id, detail->trace_id, 16);
    memcpy(span->span_id, detail->span_id, 8);
    span->flags = TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED | SPAN_FLAG_REMOTE_KNOWN;
    span->name = name;
    span->name_len =
        (uint32_t)snprintf(name, sizeof name, "step %" PRId64 ", %s", rank->attrs[0].i, c->sessions.rank);
    link.trace_state = rank->trace_state;
    span->links = &link;
    span->link_count = 1;
    counter_add_alone(COUNTER_roots, 1);
    spans_emit(c, span);
}

/* Adds the GPU's backlog: for how long it still does the work of earlier steps after the program has started
 * this one. Returns when the GPU had finished that work, in ns; 0: unknown. */
static uint64_t put_backlog(struct correlate *c, struct span *span)
{
    uint64_t ready_ns;
    if (!c->ended.is_of_step ||
        !steps_gpu_ready(&c->sessions.steps, c->ended.step_index, c->options.slept_between, &ready_ns))
        return 0;
    span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_GPU_BACKLOG),
                  ready_ns > span->start_ns ? (int64_t)(ready_ns - span->start_ns) : 0);
    return ready_ns;
}

/* Adds the parts of the step's GPU time, also of work without a span because the step has too many. */
static void put_parts(struct correlate *c, const struct account *account, struct span *span,
                      uint64_t ready_ns)
{
    struct step_end end = {.end_ns = span->end_ns,
                           .ready_ns = ready_ns,
                           .is_complete = !account->totals.is_incomplete,
                           .is_cut = c->ended.is_cut,
                           .is_selection = account->left_out != 0};
    struct measured_step parts;
    if (!step_stats_close(c->step_stats, account->measured, &end, &parts))
        return;
    span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_COMPUTE_TIME), (int64_t)parts.parts_ns[STEP_COMPUTE]);
    span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_EXPOSED_TIME),
                  (int64_t)parts.parts_ns[STEP_EXPOSED_COMMUNICATION]);
    span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_COPY_TIME), (int64_t)parts.parts_ns[STEP_COPIES]);
}

/* Emits the session's span with its totals (NULL: without, because no account was free). The span covers the
 * work that counts for the session, also GPU work after its last call. */
static void emit_session(struct correlate *c, struct account *account, struct span_event *events)
{
    struct span *span = &c->ended.span;
    if (account && account->totals.first_ns && account->totals.first_ns < span->start_ns)
        span->start_ns = account->totals.first_ns;
    if (account && account->totals.last_ns > span->end_ns)
        span->end_ns = account->totals.last_ns;
    if (c->ended.iteration)
        engine_spans_close(c, c->ended.iteration, account, span);
    if (c->ended.is_step_root_due)
        emit_step_root(c, span);
    if (c->ended.is_detailed)
        emit_detail_root(c, span);
    uint64_t ready_ns = put_backlog(c, span);
    if (!account) {
        spans_emit(c, span);
        return;
    }
    if (account->measured)
        put_parts(c, account, span, ready_ns);
    if (account->left_out)
        span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_LEFT_OUT), account->left_out);
    counting_put_error(c, &account->totals);
    counting_emit(c, account, events, SPAN_EVENTS_MAX);
}

/* Returns the size of the body of a lingering session: struct ended_span up to its last event. */
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

/* Whether this process must send the step's span. Rank 0 sends it once, even if an evaluation or a checkpoint
 * divides the step. */
static bool is_root_due(struct correlate *c, const struct step *step)
{
    struct steps *steps = &c->sessions.steps;
    bool is_sent = !step->is_iteration && steps->roots[step->at.kind].is_sent &&
                   steps->roots[step->at.kind].number == step->at.number;
    if (step->is_iteration || !step->is_joint || c->options.steps->rank != 0 || is_sent)
        return false;
    steps->roots[step->at.kind].is_sent = true;
    steps->roots[step->at.kind].number = step->at.number;
    return true;
}

static void close_session(struct correlate *c, struct session *session, const char *reason,
                          struct ended_span *ended)
{
    session_close(session, reason, &ended->span, ended->links);
    ended->is_step_root_due = session->step && is_root_due(c, session->step);
    ended->is_of_step = session->step && !session->step->is_iteration;
    ended->iteration = session->step ? session->step->iteration : 0;
    ended->is_cut = strcmp(reason, "step") != 0;
    ended->is_detailed = session->step && session->step->is_detailed;
    if (ended->is_detailed)
        ended->links[ended->span.link_count++] =
            session_link(session->step->detail_trace_id, session->step->detail_span_id,
                         TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED, "all spans");
    if (session->step && session->step->is_joint)
        /* a rank's span in a trace of all ranks */
        ended->span.link_count +=
            session_link_to_process(&c->sessions.current, &ended->links[ended->span.link_count]);
    ended->step_index = session->step ? session->step->index : 0;
    if (session->is_sampled)
        session_overhead_write(&c->sessions.overhead, c->options.take_overhead, &ended->span);
}

/* Lets the session linger until its GPU records arrive. False: the queue is full. Call it before filling
 * c->ended, because the queue may emit other entries, which use that scratch span, too. */
static bool linger(struct correlate *c, struct session *session, const struct account *account,
                   const char *reason)
{
    struct ended_span *kept = counting_linger(c, account, ended_bytes(session->event_count), emit_ended);
    if (!kept)
        return false;
    close_session(c, session, reason, kept);
    memcpy(kept->events, session->events, session->event_count * sizeof *session->events);
    return true;
}

static void end_session(struct correlate *c, struct session *session, const char *reason)
{
    struct account *account = accounts_find(c->counting.accounts, session->account);
    session->account = 0;
    if (account && account->due && linger(c, session, account, reason))
        return;
    close_session(c, session, reason, &c->ended);
    if (account || session->is_sampled)
        emit_session(c, account, session->events);
    else
        counter_add_alone(COUNTER_sessions_unsampled, 1);
    if (account)
        accounts_close(c->counting.accounts, account);
}

static struct session *session_of_step(struct correlate *c, struct step *step, uint64_t time_ns,
                                       uint64_t noted_ns);

/* The span of a rank covers the whole iteration, also if it makes no calls. */
static void end_iteration(struct correlate *c, struct step *step)
{
    uint64_t end_ns = engine_spans_ended(c, step->iteration);
    if (step->is_sampled && !step->is_used)
        (void)session_of_step(c, step, step->at.time, step->at.time);
    if (step->session && end_ns > step->session->end_ns)
        step->session->end_ns = end_ns;
}

static void end_step(struct correlate *c, struct step *step, const char *reason)
{
    if (step->iteration)
        end_iteration(c, step);
    if (step->session)
        end_session(c, step->session, reason);
    else
        engine_spans_leave(c, step->iteration);
    step->session = NULL;
    step->iteration = 0;
}

static void end_process_session(struct correlate *c, const char *reason)
{
    bool is_cut = c->sessions.cut_ns != 0;
    c->sessions.cut_ns = 0;
    if (c->sessions.current.is_open)
        end_session(c, &c->sessions.current, is_cut ? "step" : reason);
}

void session_spans_end(struct correlate *c, const char *reason)
{
    for (struct step *step; (step = steps_oldest_open(&c->sessions.steps)) != NULL;)
        end_step(c, step, step == steps_latest(&c->sessions.steps) ? reason : "step");
    end_process_session(c, reason);
}

void session_spans_end_steps(struct correlate *c)
{
    struct steps *steps = &c->sessions.steps;
    steps_end_round(steps, clock_now_ns());
    for (struct step *step; (step = steps_next_ended(steps)) != NULL;)
        end_step(c, step, "step");
    if (c->sessions.cut_ns && steps->settled == steps->count)
        end_process_session(c, "step");
}

uint32_t session_spans_open(const struct correlate *c)
{
    uint32_t open = c->sessions.current.is_open;
    for (unsigned i = 0; i < STEPS_OPEN_MAX; i++)
        open += c->sessions.steps.sessions[i].is_open;
    return open;
}

static void tell_session(struct correlate *c, const uint8_t trace_id[16], const uint8_t span_id[8],
                         uint8_t flags)
{
    if (c->options.sink.on_session)
        c->options.sink.on_session(c->options.sink.context, trace_id, span_id, flags);
}

#define STEPS_BEFORE_COMMUNICATOR 2 /* the first step may create the communicator that identifies the job */

/* Warns once if each rank has traces of its own where the user may expect one trace of all ranks. */
static void log_if_alone(const struct correlate *c, const struct step *step)
{
    const struct step_rules *rules = c->options.steps;
    if (rules->rank >= 0 && rules->world_size > 1 && !step->is_joint &&
        step->index >= STEPS_BEFORE_COMMUNICATOR)
        log_once(
            log_warn,
            "each rank has traces of its own for its steps, because the job has no identity that all ranks "
            "know; set CUSPAN_JOB_ID to the same value on all ranks");
}

/* Tells step_stats.h about the step. Creates it with the first step, because few programs have steps: for
 * statistics, or for the parts on ranks' spans. */
static void measure_step(struct correlate *c, const struct step *step)
{
    struct step_stats_options options = {.rules = c->options.steps, .settings = c->options.settings};
    bool is_needed = c->stats_are_on || c->options.steps->world_size > 1;
    if (!c->step_stats && is_needed && step_stats_create(&options, &c->step_stats) != STATUS_OK)
        log_once(log_warn, "no memory to measure steps");
    step_stats_begin(c->step_stats, step);
}

/* Returns the step's session, which this opens if needed; for a late call, a scratch session that is not
 * open. Not inlined, because few programs have steps. */
__attribute__((noinline)) static struct session *session_of_step(struct correlate *c, struct step *step,
                                                                 uint64_t time_ns, uint64_t noted_ns)
{
    struct steps *steps = &c->sessions.steps;
    bool is_over = steps_is_over(steps, step, noted_ns);
    if (!step->is_sampled) {
        steps->unsampled.account = step->iteration && !is_over ? engine_spans_account(c, step->iteration) : 0;
        return &steps->unsampled;
    }
    if (step->session && !is_over)
        return step->session;
    if (step->is_used || (is_over && step->iteration)) { /* a late call: it gets only the step's trace */
        struct session *late = &c->sessions.late;
        session_open_step(late, step, c->sessions.rank, step->span_id,
                          time_ns); /* its span has a name already */
        late->is_open = false;
        return late;
    }
    if (!steps_free_session(steps))
        end_step(c, steps_oldest_session(steps), "step");
    step->session = steps_free_session(steps);
    step->is_used = true;
    step_spans_open(c, step);
    /* The session starts with the step, so that it shows the time before the first call: loading of data. */
    uint64_t begin_ns = step->at.time && step->at.time < time_ns ? step->at.time : time_ns;
    const char *name = step->iteration ? engine_spans_rank(c, step->iteration) : c->sessions.rank;
    session_open_step(step->session, step, name, step->span_id, begin_ns);
    step->session->account =
        step->iteration ? engine_spans_account(c, step->iteration) : counting_open_root(c);
    struct account *account = accounts_find(c->counting.accounts, step->session->account);
    if (account && c->step_stats && !step->is_iteration)
        account->measured = step_stats_open(c->step_stats, step);
    counter_add(COUNTER_sessions, 1);
    return step->session;
}

void session_spans_step(struct correlate *c, struct step_boundary *boundary)
{
    struct steps *steps = &c->sessions.steps;
    if (!c->options.steps)
        return;
    struct step *oldest = steps_oldest(steps);
    if (oldest && (oldest->session || oldest->iteration))
        end_step(c, oldest, "step");
    struct step *latest = steps_latest(steps);
    if (latest && latest->iteration)
        engine_spans_end(c, latest->iteration, boundary->time);
    struct step *step = steps_add(steps, c->options.steps, boundary);
    counter_add(COUNTER_steps, 1);
    if (boundary->event) {
        engine_spans_begin(c, step, boundary->event);
        boundary->event = NULL;
        return;
    }
    if (boundary->kind == STEP_NONE) {
        measure_step(c, step);
        return;
    }
    log_if_alone(c, step);
    if (c->sessions.current.is_open && !c->sessions.cut_ns)
        c->sessions.cut_ns = boundary->time ? boundary->time : 1;
    session_next_span_id(&c->sessions.current, step->span_id);
    measure_step(c, step);
    tell_session(c, step->identity.trace_id, step->span_id,
                 TRACE_FLAG_RANDOM | (step->is_sampled ? TRACE_FLAG_SAMPLED : 0));
}

void session_spans_end_if_due(struct correlate *c, uint64_t time_ns)
{
    struct session *current = &c->sessions.current;
    if (session_is_due(current, time_ns))
        end_process_session(c, current->spans >= c->options.settings->session.spans_max ? "spans" : "age");
}

struct session *session_spans_at(struct correlate *c, uint64_t time_ns, uint64_t noted_ns)
{
    struct session *current = &c->sessions.current;
    struct step *step = c->sessions.steps.count ? steps_at(&c->sessions.steps, time_ns) : NULL;
    if (step)
        return session_of_step(c, step, time_ns, noted_ns);
    if (c->sessions.cut_ns && time_ns >= c->sessions.cut_ns)
        end_process_session(c, "step");
    session_spans_end_if_due(c, time_ns);
    if (!current->is_open) {
        session_open(current, time_ns);
        current->account = current->is_sampled ? counting_open_root(c) : 0;
        tell_session(c, current->trace_id, current->span_id, current->flags);
    }
    return current;
}

uint32_t session_spans_account_of_iteration(struct correlate *c, const uint8_t trace_id[16], uint64_t time_ns)
{
    struct step *step = c->engine ? steps_of_trace(&c->sessions.steps, trace_id, time_ns) : NULL;
    bool counts = step && step->iteration && !steps_is_over(&c->sessions.steps, step, time_ns);
    return counts ? engine_spans_account(c, step->iteration) : 0;
}

uint32_t session_spans_account_at(struct correlate *c, uint64_t time_ns)
{
    return session_spans_at(c, time_ns, time_ns)->account;
}

struct session *session_spans_of_trace(struct correlate *c, const uint8_t trace_id[16])
{
    struct session *current = &c->sessions.current;
    if (current->is_open && memcmp(current->trace_id, trace_id, 16) == 0)
        return current;
    return c->sessions.steps.count ? steps_session_of(&c->sessions.steps, trace_id) : NULL;
}

void session_spans_cover(struct correlate *c, const struct parent *parent, uint64_t start_ns, uint64_t end_ns)
{
    struct session *session = parent->is_session ? session_spans_of_trace(c, parent->trace_id) : NULL;
    if (session && (parent->account || !session->account)) /* not a late call of a step */
        session_cover(session, start_ns, end_ns);
}
