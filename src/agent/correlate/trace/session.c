#include "agent/correlate/trace/session.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/hash.h"
#include "agent/correlate/trace/traced_step.h"
#include "model/semconv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define LOSS_PREFIX "cuspan.lost."

/* Fills random bytes without getrandom(), which a seccomp filter may forbid at any time. */
static void fill_without_system(uint8_t *to, size_t bytes)
{
    static uint64_t count;
    uint64_t hash = hash_word(hash_word(hash_word(HASH_START, clock_ticks()), (uint64_t)getpid()), ++count);
    for (size_t i = 0; i < bytes; i++) {
        hash = hash_word(hash, clock_ticks());
        to[i] = (uint8_t)(hash >> 40);
    }
    to[bytes - 1] |= 1; /* all zero is invalid */
}

static void fill_random(void *to, size_t bytes)
{
    uint8_t *at = to;
    while (bytes) {
        ssize_t got = getrandom(at, bytes, 0);
        if (got < 0 && errno != EINTR) {
            fill_without_system(at, bytes);
            return;
        }
        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        }
    }
}

void session_init(struct session *session, const struct settings *settings, const char *name,
                  const struct trace_context *parent)
{
    *session = (struct session){.settings = settings, .name = name, .has_parent = parent != NULL};
    if (parent)
        session->parent = *parent;
    sampler_init(&session->sampler, settings);
    fill_random(&session->next_id, sizeof session->next_id);
}

void session_next_span_id(struct session *session, uint8_t span_id[8])
{
    if (++session->next_id == 0)
        session->next_id = 1; /* all zero is invalid */
    uint64_t big_endian = __builtin_bswap64(session->next_id);
    memcpy(span_id, &big_endian, 8);
}

static void become_root(struct session *session, uint64_t time_ns)
{
    bool follows = session->has_parent && session->settings->sampler_parent_based;
    fill_random(session->trace_id, 16);
    if (session->trace_id[0] == 0 && session->trace_id[15] == 0)
        fill_without_system(session->trace_id, 16);
    memset(session->parent_span_id, 0, 8);
    session->flags = TRACE_FLAG_RANDOM;
    /* later sessions follow the process's parent; each counts for the limit */
    session->trace_state = follows ? NULL : sampler_root_state(&session->sampler);
    session->is_sampled =
        follows ? (session->parent.flags & TRACE_FLAG_SAMPLED) && sampler_admits(&session->sampler, time_ns)
                : sampler_decide(&session->sampler, NULL, session->trace_id, time_ns, NULL);
}

static void become_child(struct session *session, uint64_t time_ns)
{
    const struct trace_context *parent = &session->parent;
    memcpy(session->trace_id, parent->trace_id, 16);
    memcpy(session->parent_span_id, parent->span_id, 8);
    session->flags = parent->flags & TRACE_FLAG_RANDOM;
    session->is_sampled =
        sampler_decide(&session->sampler, parent, parent->trace_id, time_ns, session->child_state);
    session->trace_state = *session->child_state ? session->child_state : NULL;
}

void session_open(struct session *session, uint64_t time_ns)
{
    if (session->is_open)
        return;
    if (session->has_parent && session->number == 0)
        become_child(session, time_ns);
    else
        become_root(session, time_ns);
    session->flags |= session->is_sampled ? TRACE_FLAG_SAMPLED : 0;
    session_next_span_id(session, session->span_id);
    if (session->number < SESSION_TRACES_KEPT)
        memcpy(session->traces[session->number], session->trace_id, 16);
    session->number++;
    session->is_open = true;
    session->begin_ns = session->end_ns = time_ns;
    session->spans = session->event_count = session->events_dropped = 0;
    counter_add(COUNTER_sessions, 1);
}

void session_open_step(struct session *session, const struct step *step, const char *name,
                       const uint8_t span_id[8], uint64_t time_ns)
{
    *session = (struct session){.step = step,
                                .name = name,
                                .is_open = true,
                                .is_sampled = true,
                                .flags = TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED,
                                .trace_state = *step->trace_state ? step->trace_state : NULL,
                                .begin_ns = time_ns,
                                .end_ns = time_ns};
    memcpy(session->trace_id, step->identity.trace_id, 16);
    memcpy(session->span_id, span_id, 8);
    if (step->is_joint)
        memcpy(session->parent_span_id, step->identity.span_id, 8);
    if (step->is_detailed) { /* no threshold: the turn counts for the probability, too */
        memcpy(session->trace_id, step->detail_trace_id, 16);
        memcpy(session->span_id, step->detail_span_id, 8);
        session->trace_state = NULL;
    }
}

/* Sets the IDs of a rank's span, which is in the trace of all ranks, even if its children have another trace.
 */
static void put_step_ids(const struct step *step, struct span *span)
{
    memcpy(span->trace_id, step->identity.trace_id, 16);
    memcpy(span->span_id, step->span_id, 8);
    span->trace_state = *step->trace_state ? step->trace_state : NULL;
}

bool session_is_due(const struct session *session, uint64_t time_ns)
{
    return session->is_open &&
           (session->spans >= session->settings->session.spans_max ||
            time_ns > session->begin_ns + session->settings->session.age_max_ms * NS_PER_MS);
}

void session_cover(struct session *session, uint64_t start_ns, uint64_t end_ns)
{
    session->spans++;
    if (start_ns < session->begin_ns)
        session->begin_ns = start_ns;
    if (end_ns > session->end_ns)
        session->end_ns = end_ns;
}

void session_add_event(struct session *session, const struct span_event *event)
{
    if (session->event_count == SPAN_EVENTS_MAX)
        session->events_dropped++;
    else
        session->events[session->event_count++] = *event;
}

struct span_link session_link(const uint8_t trace_id[16], const uint8_t span_id[8], uint32_t flags,
                              const char *what)
{
    struct span_link link = {.flags = flags | SPAN_FLAG_REMOTE_KNOWN};
    memcpy(link.trace_id, trace_id, 16);
    memcpy(link.span_id, span_id, 8);
    link.attr = (struct span_attr){
        .key = ATTR(SEMCONV_CUDA_LINK), .type = ATTR_STRING, .len = (uint32_t)strlen(what), .s = what};
    return link;
}

uint32_t session_link_to_process(const struct session *session, struct span_link *link)
{
    const struct trace_context *parent = &session->parent;
    if (!session->has_parent)
        return 0;
    *link = session_link(parent->trace_id, parent->span_id, SPAN_FLAG_REMOTE | parent->flags, "process");
    link->trace_state = *parent->trace_state ? parent->trace_state : NULL;
    return 1;
}

static uint32_t add_links(const struct session *session, struct span_link *links)
{
    if (session->number <= 1)
        return 0;
    links[0] = session->previous;
    return 1 + session_link_to_process(session, &links[1]);
}

/* Returns the attribute key of a loss, such as "cuspan.lost.ring_full" for the counter lost_ring_full. */
static const struct attr_key *loss_key(enum counter counter)
{
    static struct attr_key keys[COUNTER_COUNT]; /* used by one thread */
    struct attr_key *key = &keys[counter];
    if (!key->tag) {
        int length = snprintf(key->name, sizeof key->name, "%s%s", LOSS_PREFIX,
                              counter_name(counter) + strlen("lost_"));
        key->len = (uint8_t)length;
        key->tag = 0x0a;
    }
    return key;
}

/* Adds the losses of the whole process so far, because a loss in capture belongs to no session. */
static void add_losses(struct span *span)
{
    span_attr_int(span, ATTR(SEMCONV_CUDA_SESSION_LOST), (int64_t)counters_lost());
    for (enum counter i = 0; i < COUNTER_COUNT; i++)
        if (counter_is_loss(i) && counter_get(i))
            span_attr_int(span, loss_key(i), (int64_t)counter_get(i));
}

static void add_step(const struct step *step, struct span *span)
{
    if (step->is_iteration)
        return; /* engine_spans.c adds what it knows */
    span_attr_int(span, ATTR(SEMCONV_TRAINING_STEP_NUMBER), step->at.number);
    span_attr_string(span, ATTR(SEMCONV_TRAINING_STEP_KIND), step_kind_name(step->at.kind));
    span_attr_string(span, ATTR(SEMCONV_TRAINING_STEP_SOURCE), step_source_name(step->at.source));
}

void session_close(struct session *session, const char *reason, struct span *span, struct span_link *links)
{
    bool is_child = session->step ? session->step->is_joint : session->number == 1 && session->has_parent;
    span_begin(span, session->begin_ns,
               session->end_ns > session->begin_ns ? session->end_ns : session->begin_ns + 1);
    memcpy(span->trace_id, session->trace_id, 16);
    memcpy(span->span_id, session->span_id, 8);
    memcpy(span->parent_span_id, session->parent_span_id, 8);
    span->flags = session->flags | SPAN_FLAG_REMOTE_KNOWN | (is_child ? SPAN_FLAG_REMOTE : 0);
    span->name = session->name;
    span->name_len = (uint32_t)strlen(span->name);
    span->trace_state = session->trace_state;
    if (session->step)
        put_step_ids(session->step, span);
    span->events = session->events;
    span->event_count = session->event_count;
    span->events_dropped = session->events_dropped;
    span->links = links;
    span->link_count = add_links(session, links);
    if (session->step)
        add_step(session->step, span);
    else
        span_attr_int(span, ATTR(SEMCONV_CUDA_SESSION_NUMBER), session->number);
    span_attr_int(span, ATTR(SEMCONV_CUDA_SESSION_SPANS), session->spans);
    span_attr_string(span, ATTR(SEMCONV_CUDA_SESSION_END_REASON), reason);
    if (counters_lost())
        add_losses(span);
    session->previous = session_link(session->trace_id, session->span_id, session->flags, "previous session");
    session->is_open = false;
}
