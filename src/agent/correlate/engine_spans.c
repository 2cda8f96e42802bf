#include "agent/correlate/engine_spans.h"

#include "agent/correlate/counting.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/totals/engine_stats.h"
#include "agent/correlate/totals/iteration_summaries.h"
#include "agent/correlate/trace/engine_requests.h"
#include "base/accounting/counters.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log/log.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MAX         1024
#define OPEN_BYTES_MAX   (256 * 1024) /* of the events of open iterations; others lose their parts */
#define PARTS_SHOWN_MAX  SUMMARY_MEMBERS_MAX
#define PART_TEXT_BYTES  (REQUEST_ID_BYTES + 48)
#define RANK_NAME_BYTES  24
#define ROOT_NAME_BYTES  32
#define METHOD_OF_SHARES "tokens"
#define HEADER_PREFIX    "engine.request.header."

struct open_iteration {
    struct engine_event *event; /* NULL: free */
    uint64_t begin_ns, end_ns;  /* end 0: in progress */
    uint32_t account;           /* 0: none so far */
    bool is_sampled;
    bool is_wanted;             /* its summary, once it is complete */
    char rank[RANK_NAME_BYTES]; /* these are used until its span is sent, after the event was freed */
    char engine[ENGINE_NAME_BYTES];
};

struct engine {
    struct engine_requests *requests;
    size_t open_bytes;
    uint32_t next;    /* place in `open` to look at first */
    uint32_t swept_s; /* time of the latest sweep */
    struct open_iteration open[OPEN_MAX];
    struct iteration_summaries summaries;
    /* Scratch for the current span: */
    struct span span;
    struct span_link links[REQUEST_LINKS_MAX];
    struct span_link
        members[PARTS_SHOWN_MAX + SPAN_LINKS_MAX]; /* of rank 0 to the requests, and its others */
    struct span_attr items[PARTS_SHOWN_MAX];
    char texts[PARTS_SHOWN_MAX][PART_TEXT_BYTES];
    struct iteration summarized;
    struct attr_key keys[REQUEST_HEADERS_MAX];
    uint32_t shown, linked, left_out; /* parts in the items; links in the members, and those without room */
};

/* With the events that wait for the pipeline thread (steps.c). */
static_assert(sizeof(struct engine) + ENGINE_REQUESTS_MAX * sizeof(struct request) +
                      ENGINE_REQUESTS_TRACED_MAX * sizeof(struct request_trace) + ENGINE_HEADER_BYTES_MAX +
                      OPEN_BYTES_MAX + 256 * 1024 <=
                  SETTINGS_ENGINE_BYTES - 16 * 1024,
              "all of it fits into the share of memory_bytes_max");

static unsigned phase_of(const struct iteration_part *part)
{
    return part->phase == REQUEST_PREFILL ? REQUEST_PREFILL : REQUEST_DECODE;
}

void engine_spans_destroy(struct engine *engine)
{
    for (uint32_t i = 0; engine && i < OPEN_MAX; i++)
        free(engine->open[i].event);
    if (engine)
        engine_requests_destroy(engine->requests);
    free(engine);
}

/* Returns the engine's state, which the first event creates, because few programs have an engine. */
static struct engine *engine_of(struct correlate *c)
{
    if (c->engine)
        return c->engine;
    if (!settings_have_room_for_engines(c->options.settings)) {
        log_once(log_warn,
                 "memory_bytes_max leaves no room for a serving engine's iterations and requests, which "
                 "therefore have no spans; raise it");
        return NULL;
    }
    c->engine = calloc(1, sizeof *c->engine);
    if (c->engine && engine_requests_create(&c->engine->requests) != STATUS_OK) {
        free(c->engine);
        c->engine = NULL;
    }
    if (!c->engine)
        log_once(log_warn, "no memory for a serving engine's iterations, which therefore have no spans");
    if (c->engine && c->options.settings->metrics.is_on &&
        engine_stats_create(c->options.settings, c->engine->requests, &c->engine_stats) != STATUS_OK)
        log_once(log_warn, "no memory for metrics of a serving engine");
    return c->engine;
}

static struct open_iteration *open_at(struct correlate *c, uint32_t iteration)
{
    return &c->engine->open[iteration - 1];
}

/* ---- Requests ---- */

/* Decides whether the request is sampled, and fills its parent. A request without a context has a trace of
 * its own. */
static bool sample(struct correlate *c, const struct engine_request *given, uint64_t time_ns,
                   struct parent *parent)
{
    static const uint8_t none[24];
    struct trace_context context = {.flags = given->flags};
    char state[TRACE_STATE_MAX] = "";
    if (memcmp(given->context, none, sizeof none) == 0) {
        uint64_t key = hash_mix(c->options.steps->own ^ hash_mix(given->number));
        memcpy(parent->trace_id, step_identity_of(key, 0).trace_id, 16);
        parent->flags = TRACE_FLAG_RANDOM | SPAN_FLAG_REMOTE_KNOWN;
        parent->trace_state = sampler_root_state(&c->sessions.current.sampler);
        parent->is_sampled =
            sampler_decide(&c->sessions.current.sampler, NULL, parent->trace_id, time_ns, NULL);
    } else {
        memcpy(context.trace_id, given->context, 16);
        memcpy(context.span_id, given->context + 16, 8);
        memcpy(parent->trace_id, context.trace_id, 16);
        memcpy(parent->span_id, context.span_id, 8);
        strcpy(context.trace_state, given->trace_state);
        parent->is_sampled = sampler_decide_once(&c->sessions.current.sampler, &c->threads.decisions,
                                                 &context, time_ns, state);
        parent->flags = (given->flags & TRACE_FLAG_RANDOM) | SPAN_FLAG_REMOTE_KNOWN | SPAN_FLAG_REMOTE;
        parent->trace_state =
            tracestates_keep(&c->threads.tracestates, context.trace_id, state, strlen(state));
    }
    parent->flags |= parent->is_sampled ? TRACE_FLAG_SAMPLED : 0;
    return parent->is_sampled;
}

/* Writes the request's ID as engine.request_ids says: IDs come from clients. */
static void write_id(const struct settings *settings, const char *given, char id[REQUEST_ID_BYTES])
{
    memset(id, 0, REQUEST_ID_BYTES);
    if (settings->engine.request_ids == REQUEST_IDS_HASH && *given)
        snprintf(id, REQUEST_ID_BYTES, "%016" PRIx64, hash_text(HASH_START, given));
    if (settings->engine.request_ids == REQUEST_IDS_PLAIN)
        client_text_write(id, REQUEST_ID_BYTES, given, false);
}

static void begin_request(struct correlate *c, const struct engine_event *event, uint64_t time_ns)
{
    const struct engine_request *given = &event->request;
    char id[REQUEST_ID_BYTES];
    struct parent parent = {.is_session = false};
    write_id(c->options.settings, given->id, id);
    struct request *request = engine_requests_add(c->engine->requests, given->number, id);
    if (request) {
        request->seen_s = (uint32_t)(time_ns / NS_PER_SECOND);
        engine_stats_admit(c->engine_stats, request, given->arrived_ns ? given->arrived_ns : time_ns);
    }
    bool is_sampled = request && sample(c, given, time_ns, &parent);
    struct request_trace *trace = is_sampled ? engine_requests_trace(c->engine->requests, request) : NULL;
    counter_add(COUNTER_engine_requests, 1);
    if (!request || (is_sampled && !trace))
        counter_add(COUNTER_engine_requests_untraced, 1);
    if (!trace)
        return;
    trace->parent = parent;
    session_next_span_id(&c->sessions.current, trace->span_id);
    trace->arrived_ns = given->arrived_ns;
    trace->prompt_tokens = given->prompt_tokens;
    trace->cached_tokens = given->cached_tokens;
    if (given->header_bytes && !engine_requests_keep_headers(c->engine->requests, trace,
                                                             (const char *)event->parts, given->header_bytes))
        counter_add(COUNTER_engine_headers_lost, 1);
}

static void put_links(struct correlate *c, struct span *span, const struct request_trace *trace)
{
    int64_t chosen[REQUEST_LINKS_MAX];
    span->link_count = request_trace_links(trace, chosen);
    span->links = c->engine->links;
    for (uint32_t i = 0; i < span->link_count; i++) {
        struct step_identity identity = iteration_identify(trace->seed, chosen[i]);
        c->engine->links[i] = session_link(identity.trace_id, identity.span_id,
                                           TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED, "iteration");
    }
}

/* Adds the times between the request's states that are known. */
static void put_times(struct span *span, const struct request_trace *trace)
{
    if (trace->arrived_ns && trace->first_ns)
        span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_QUEUE_TIME),
                      trace->first_ns > trace->arrived_ns ? (int64_t)(trace->first_ns - trace->arrived_ns)
                                                          : 0);
    if (!trace->prefilled_ns || trace->prefilled_ns > span->end_ns)
        return;
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_PREFILL_TIME),
                  (int64_t)(trace->prefilled_ns - trace->first_ns));
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_DECODE_TIME),
                  (int64_t)(span->end_ns - trace->prefilled_ns));
    if (trace->generated_tokens > 1)
        span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_TIME_PER_OUTPUT_TOKEN),
                      (int64_t)((span->end_ns - trace->prefilled_ns) / (trace->generated_tokens - 1)));
}

static void put_counts(struct span *span, const struct request_trace *trace)
{
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_PROMPT_TOKENS), trace->prompt_tokens);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_CACHED_TOKENS), trace->cached_tokens);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_GENERATED_TOKENS), trace->generated_tokens);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_PREFILL_TOKENS), (int64_t)trace->tokens[REQUEST_PREFILL]);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_DECODE_TOKENS), (int64_t)trace->tokens[REQUEST_DECODE]);
    if (trace->drafts)
        span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_DRAFTS), (int64_t)trace->drafts);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_PREEMPTIONS), trace->preemptions);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_ITERATIONS), trace->iterations);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_ITERATIONS_MEASURED), trace->measured);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_ITERATIONS_RECORDED),
                  trace->recorded + trace->summarized);
}

/* Adds the GPU's time. It is that of the measured iterations only. */
static void put_shares(struct span *span, const struct request_trace *trace)
{
    if (!trace->measured)
        return;
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_ITERATION_TIME), (int64_t)trace->time_ns);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_GPU_TIME), (int64_t)trace->gpu_ns);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_GPU_SHARE_PREFILL),
                  (int64_t)(trace->share_ns[REQUEST_PREFILL] + 0.5));
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_GPU_SHARE_DECODE),
                  (int64_t)(trace->share_ns[REQUEST_DECODE] + 0.5));
    span_attr_string(span, ATTR(SEMCONV_ENGINE_REQUEST_GPU_SHARE_METHOD), METHOD_OF_SHARES);
}

/* Adds the headers that the engine's adapter or the program passed. */
static void put_headers(struct engine *engine, struct span *span, const struct request_trace *trace)
{
    const char *at = trace->headers;
    for (uint32_t i = 0; at && at < trace->headers + trace->header_bytes && i < REQUEST_HEADERS_MAX; i++) {
        struct attr_key *key = &engine->keys[i];
        const char *value = at + strlen(at) + 1;
        key->tag = 0x0a;
        key->len = (uint8_t)snprintf(key->name, sizeof key->name, "%s%s", HEADER_PREFIX, at);
        span_attr_string(span, key, value);
        at = value + strlen(value) + 1;
    }
}

/* Emits the request's span, from its first iteration to its end, and forgets the request. */
static void send_request(struct correlate *c, struct request *request)
{
    struct engine *engine = c->engine;
    struct span *span = &engine->span;
    const struct request_trace *trace = request->trace;
    char name[ENGINE_NAME_BYTES + 16];
    /* An engine may report the end with a later iteration. */
    bool has_finished = trace->ended_ns && trace->end_reason == REQUEST_FINISHED;
    uint64_t end_ns = trace->last_ns && (has_finished || !trace->ended_ns) ? trace->last_ns : trace->ended_ns;
    end_ns = end_ns ? end_ns : (request->seen_s + 1) * NS_PER_SECOND; /* not before its parent */
    uint64_t start_ns = trace->first_ns ? trace->first_ns : end_ns;
    span_begin(span, start_ns, end_ns > start_ns ? end_ns : start_ns + 1);
    spans_put_below_parent(c, span, &trace->parent);
    memcpy(span->span_id, trace->span_id, 8);
    span->name = name;
    span->name_len =
        (uint32_t)snprintf(name, sizeof name, "%s request", *trace->engine ? trace->engine : "engine");
    if (*trace->engine)
        span_attr_string(span, ATTR(SEMCONV_ENGINE_NAME), trace->engine);
    if (*request->id)
        span_attr_string(span, ATTR(SEMCONV_GEN_AI_REQUEST_ID), request->id);
    span_attr_string(span, ATTR(SEMCONV_ENGINE_REQUEST_END),
                     trace->ended_ns ? request_end_name(trace->end_reason) : "unfinished");
    span->status =
        trace->ended_ns && trace->end_reason == REQUEST_FAILED ? SPAN_STATUS_ERROR : SPAN_STATUS_UNSET;
    put_counts(span, trace);
    put_times(span, trace);
    put_shares(span, trace);
    put_headers(engine, span, trace);
    put_links(c, span, trace);
    counter_add_alone(COUNTER_engine_request_spans, 1);
    spans_emit(c, span);
    engine_requests_remove(engine->requests, request);
}

static void end_request(struct correlate *c, const struct engine_request_end *given, uint64_t time_ns)
{
    struct request *request = engine_requests_find(c->engine->requests, given->number);
    if (!request)
        return;
    struct request_trace *trace = request->trace;
    struct measured_span span = {{0}, {0}};
    if (trace) {
        memcpy(span.trace_id, trace->parent.trace_id, sizeof span.trace_id);
        memcpy(span.span_id, trace->span_id, sizeof span.span_id);
    }
    engine_stats_end(c->engine_stats, request, given, time_ns, &span);
    if (!trace) {
        engine_requests_remove(c->engine->requests, request);
        return;
    }
    trace->ended_ns = time_ns;
    trace->end_reason = given->reason;
    trace->generated_tokens = given->tokens;
    if (!trace->open)
        send_request(c, request);
}

void engine_spans_sweep(struct correlate *c, uint64_t time_ns)
{
    uint32_t now_s = (uint32_t)(time_ns / NS_PER_SECOND), until_s = c->engine->swept_s;
    if (now_s < until_s + REQUEST_IDLE_S / 60)
        return;
    c->engine->swept_s = now_s;
    for (uint32_t i = 0; i < ENGINE_REQUESTS_MAX; i++) {
        struct request *request = engine_requests_at(c->engine->requests, i);
        struct engine_request_end end = {.number = request->number, .reason = REQUEST_ABORTED};
        bool is_open = !request->seen_s || (request->trace && request->trace->open);
        if (!request->number || is_open || request->seen_s + REQUEST_IDLE_S >= until_s)
            continue;
        counter_add(COUNTER_engine_requests_unfinished, 1);
        if ((request->number & REQUEST_MAY_BE_SAMPLED) && c->options.release_hold)
            c->options.release_hold();
        end_request(c, &end, 0); /* when is unknown */
    }
}

/* ---- Iterations ---- */

/* Returns the index of a free entry; OPEN_MAX: none. */
static uint32_t find_free(struct engine *engine)
{
    for (uint32_t i = 0; i < OPEN_MAX; i++) {
        uint32_t at = (engine->next + i) % OPEN_MAX;
        if (!engine->open[at].event) {
            engine->next = at + 1;
            return at;
        }
    }
    return OPEN_MAX;
}

/* Adds the parts to their requests and to the iteration's sums. */
static void add_parts(struct correlate *c, const struct open_iteration *open)
{
    struct iteration *iteration = &open->event->iteration;
    for (uint32_t i = 0; i < iteration->part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        struct request *request = engine_requests_find(c->engine->requests, part->request);
        struct request_trace *trace = request ? request->trace : NULL;
        unsigned phase = phase_of(part);
        iteration->tokens[phase] += part->tokens;
        if (request)
            request->seen_s = (uint32_t)(open->begin_ns / NS_PER_SECOND);
        if (!trace)
            continue;
        if (!trace->first_ns) {
            trace->first_ns = open->begin_ns;
            trace->seed = iteration->seed;
            memcpy(trace->engine, iteration->engine, sizeof trace->engine);
        }
        trace->tokens[phase] += part->tokens;
        trace->drafts += part->drafts;
        trace->preemptions += part->is_resumed;
        trace->iterations++;
        trace->open++;
    }
}

void engine_spans_begin(struct correlate *c, struct step *step, struct engine_event *event)
{
    struct engine *engine = engine_of(c);
    uint32_t index = engine ? find_free(engine) : OPEN_MAX;
    counter_add(COUNTER_iterations, 1);
    if (index == OPEN_MAX) {
        counter_add(COUNTER_engine_events_lost, 1);
        free(event);
        return;
    }
    struct open_iteration *open = &engine->open[index];
    *open =
        (struct open_iteration){.event = event, .begin_ns = step->at.time, .is_sampled = step->is_sampled};
    snprintf(open->rank, sizeof open->rank, "rank %" PRId32, event->iteration.rank);
    memcpy(open->engine, event->iteration.engine, sizeof open->engine);
    engine->open_bytes += event->bytes;
    if (engine->open_bytes > OPEN_BYTES_MAX) {
        counter_add(COUNTER_engine_events_lost, 1);
        event->iteration.part_count = 0;
    }
    add_parts(c, open);
    engine_stats_begin_iteration(c->engine_stats, open->event, open->begin_ns);
    step->iteration = index + 1;
}

uint32_t engine_spans_account(struct correlate *c, uint32_t iteration)
{
    struct open_iteration *open = open_at(c, iteration);
    if (!open->account)
        open->account = counting_open_root(c);
    return open->account;
}

uint64_t engine_spans_ended(struct correlate *c, uint32_t iteration)
{
    return open_at(c, iteration)->end_ns;
}

const char *engine_spans_rank(struct correlate *c, uint32_t iteration)
{
    return open_at(c, iteration)->rank;
}

void engine_spans_end(struct correlate *c, uint32_t iteration, uint64_t time_ns)
{
    struct open_iteration *open = open_at(c, iteration);
    open->end_ns = time_ns;
    engine_stats_end_iteration(c->engine_stats, open->event, open->begin_ns, time_ns, open->is_sampled);
    for (uint32_t i = 0; i < open->event->iteration.part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        struct request *request = engine_requests_find(c->engine->requests, part->request);
        if (!request || !request->trace)
            continue;
        request->trace->last_ns = time_ns;
        if (part->phase == REQUEST_PREFILL && !request->trace->tokens[REQUEST_DECODE])
            request->trace->prefilled_ns = time_ns;
    }
}

static void put_iteration(struct span *span, const struct iteration *iteration, const char *engine)
{
    if (*engine)
        span_attr_string(span, ATTR(SEMCONV_ENGINE_NAME), engine);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_NUMBER), iteration->number);
    span_attr_string(span, ATTR(SEMCONV_ENGINE_ITERATION_KIND), iteration_kind_name(iteration->kind));
}

/* Begins the iteration's span, which all ranks know as their parent. */
static struct span *begin_root(struct correlate *c, const struct iteration *iteration, uint64_t start_ns,
                               uint64_t end_ns, char name[ROOT_NAME_BYTES])
{
    struct span *span = &c->engine->span;
    struct step_identity identity = iteration_identify(iteration->seed, iteration->number);
    span_begin(span, start_ns, end_ns);
    memcpy(span->trace_id, identity.trace_id, 16);
    memcpy(span->span_id, identity.span_id, 8);
    span->flags = TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED | SPAN_FLAG_REMOTE_KNOWN;
    span->name = name;
    span->name_len = (uint32_t)snprintf(name, ROOT_NAME_BYTES, "iteration %" PRId64, iteration->number);
    put_iteration(span, iteration, iteration->engine);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_REQUESTS), iteration->requests);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_PREFILL_TOKENS),
                  (int64_t)iteration->tokens[REQUEST_PREFILL]);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_DECODE_TOKENS),
                  (int64_t)iteration->tokens[REQUEST_DECODE]);
    c->engine->shown = c->engine->linked = c->engine->left_out = 0;
    return span;
}

/* Notes what a request had in the iteration (NULL: unknown), and a link to it if it has a span. Viewers hide
 * attributes of links, so the parts are text, too: "r17 decode 1". */
static void note_part(struct engine *engine, const struct request *request, unsigned phase, uint32_t tokens)
{
    const struct request_trace *trace = request ? request->trace : NULL;
    if (engine->shown < PARTS_SHOWN_MAX) {
        char *text = engine->texts[engine->shown];
        int length = snprintf(text, PART_TEXT_BYTES, "%s%s%s %" PRIu32, request ? request->id : "",
                              request && *request->id ? " " : "", request_phase_name(phase), tokens);
        engine->items[engine->shown++] =
            (struct span_attr){.type = ATTR_STRING, .s = text, .len = (uint32_t)length};
    }
    if (trace && engine->linked < PARTS_SHOWN_MAX)
        engine->members[engine->linked++] =
            session_link(trace->parent.trace_id, trace->span_id, trace->parent.flags & 0xff, "request");
    else
        engine->left_out += trace != NULL;
}

static void emit_root(struct correlate *c, struct span *span)
{
    if (c->engine->shown)
        span_attr_array(span, ATTR(SEMCONV_ENGINE_ITERATION_PARTS), c->engine->items, c->engine->shown);
    if (c->engine->left_out)
        span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_LINKS_LEFT_OUT), c->engine->left_out);
    counter_add_alone(COUNTER_roots, 1);
    spans_emit(c, span);
}

/* Adds the links to the iteration's requests to the span of rank 0: Jaeger calls a trace incomplete if its
 * root has links. The span's other links come last, because collectors and viewers may keep 128. */
static void link_requests(struct engine *engine, struct span *rank)
{
    for (uint32_t i = 0; i < rank->link_count; i++)
        engine->members[engine->linked++] = rank->links[i];
    rank->links = engine->members;
    rank->link_count = engine->linked;
}

/* Emits the root of a recorded iteration, and adds links to the span of rank 0. */
static void send_root(struct correlate *c, const struct open_iteration *open, struct span *rank)
{
    const struct iteration *iteration = &open->event->iteration;
    char name[ROOT_NAME_BYTES];
    struct span *span = begin_root(c, iteration, rank->start_ns, rank->end_ns, name);
    span->flags = (rank->flags & ~SPAN_FLAG_REMOTE) | SPAN_FLAG_REMOTE_KNOWN;
    span->trace_state = rank->trace_state;
    bool shows_parts = c->options.settings->engine.neighbors == NEIGHBORS_LINKS;
    for (uint32_t i = 0; shows_parts && i < iteration->part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        note_part(c->engine, engine_requests_find(c->engine->requests, part->request), phase_of(part),
                  part->tokens);
    }
    emit_root(c, span);
    link_requests(c->engine, rank);
}

/* ---- Summaries of iterations, sent afterwards ---- */

/* Returns the member's request; NULL: it has ended, and its span was sent. */
static struct request *request_of(struct correlate *c, const struct iteration_summary *summary,
                                  const struct summary_member *member)
{
    struct request *request = engine_requests_at(c->engine->requests, member->request);
    bool is_same =
        request->trace && request->trace->first_ns && request->trace->first_ns <= summary->begin_ns;
    return is_same ? request : NULL;
}

/* Emits the iteration's span, notes the links to its requests, and has them link to it. */
static void send_summary_root(struct correlate *c, const struct iteration_summary *summary,
                              const struct iteration *iteration, uint64_t end_ns)
{
    struct iteration_link link = {.number = summary->number,
                                  .duration_ns = summary->end_ns - summary->begin_ns};
    bool shows_parts = c->options.settings->engine.neighbors == NEIGHBORS_LINKS;
    char name[ROOT_NAME_BYTES];
    struct span *span = begin_root(c, iteration, summary->begin_ns, end_ns, name);
    span_attr_bool(span, ATTR(SEMCONV_ENGINE_ITERATION_SUMMARY), true);
    for (uint32_t i = 0; i < summary->member_count && i < SUMMARY_MEMBERS_MAX; i++) {
        const struct summary_member *member = iteration_summaries_member(&c->engine->summaries, summary, i);
        struct request *request = request_of(c, summary, member);
        if (!request)
            continue;
        request_trace_note_summary(request->trace, &link);
        if (shows_parts)
            note_part(c->engine, request, member->phase, member->tokens);
    }
    if (shows_parts && summary->member_count > SUMMARY_MEMBERS_MAX)
        c->engine->left_out += summary->member_count - SUMMARY_MEMBERS_MAX;
    emit_root(c, span);
}

/* Emits the trace of an iteration that was not recorded: this rank's span with the totals, and on rank 0 the
 * root. `named` has the engine's name and the rank. */
static void send_summary(struct correlate *c, struct iteration_summary *summary,
                         const struct iteration *named)
{
    struct iteration *iteration = &c->engine->summarized;
    struct step_identity identity = iteration_identify(summary->seed, summary->number);
    struct totals_pool *pool = accounts_pool(c->counting.accounts);
    uint64_t end_ns = summary->totals.last_ns > summary->end_ns ? summary->totals.last_ns : summary->end_ns;
    char name[RANK_NAME_BYTES];
    *iteration = *named;
    iteration->kind = summary->kind;
    iteration->requests = summary->requests;
    memcpy(iteration->tokens, summary->tokens, sizeof iteration->tokens);
    summary->has_trace = true;
    if (iteration->rank == 0)
        send_summary_root(c, summary, iteration, end_ns);
    struct span *span = &c->engine->span;
    span_begin(span, summary->begin_ns, end_ns);
    memcpy(span->trace_id, identity.trace_id, 16);
    memcpy(span->parent_span_id, identity.span_id, 8);
    iteration_rank_span(summary->seed, summary->number, iteration->rank, span->span_id);
    span->flags = TRACE_FLAG_RANDOM | TRACE_FLAG_SAMPLED | SPAN_FLAG_REMOTE_KNOWN | SPAN_FLAG_REMOTE;
    span->name = name;
    span->name_len = (uint32_t)snprintf(name, sizeof name, "rank %" PRId32, iteration->rank);
    put_iteration(span, iteration, iteration->engine);
    if (iteration->rank == 0)
        link_requests(c->engine, span);
    span_attr_bool(span, ATTR(SEMCONV_ENGINE_ITERATION_SUMMARY), true);
    if (summary->is_measured)
        totals_write_sums(pool, &summary->totals, summary->gpu_ns, span);
    else
        span_attr_bool(span, ATTR(SEMCONV_CUDA_TOTAL_INCOMPLETE), true);
    counter_add_alone(COUNTER_iteration_summaries, 1);
    spans_emit(c, span);
}

/* Sends the summary now, or once the iteration's GPU records have arrived. */
static void want_summary(struct correlate *c, const struct iteration *named)
{
    struct engine *engine = c->engine;
    struct iteration_summary *summary =
        iteration_summaries_find(&engine->summaries, named->seed, named->number);
    bool is_open = false;
    for (uint32_t i = 0; !summary && !is_open && i < OPEN_MAX; i++) {
        const struct engine_event *event = engine->open[i].event;
        is_open = event && event->iteration.number == named->number && event->iteration.seed == named->seed;
        engine->open[i].is_wanted |= is_open;
    }
    if (summary && !summary->has_trace)
        send_summary(c, summary, named);
    else if (!summary && !is_open)
        counter_add(COUNTER_iteration_summaries_gone, 1);
}

/* An iteration whose GPU records have arrived. */
struct measured {
    uint64_t end_ns, gpu_ns;
    bool is_complete; /* capture was awake, and lost nothing */
};

static struct measured measured_of(struct correlate *c, const struct open_iteration *open,
                                   const struct account *account)
{
    struct measured measured = {.end_ns = open->end_ns > open->begin_ns ? open->end_ns : open->begin_ns + 1};
    if (!account)
        return measured;
    measured.gpu_ns = totals_gpu_ns(accounts_pool(c->counting.accounts), &account->totals);
    /* Without calls and work, capture was asleep, or paused for another tool. */
    measured.is_complete = (account->totals.calls || measured.gpu_ns) && !account->totals.is_incomplete;
    return measured;
}

static struct iteration_summary *keep_summary(struct correlate *c, const struct open_iteration *open,
                                              const struct account *account, const struct measured *measured)
{
    const struct iteration *iteration = &open->event->iteration;
    struct iteration_summary *kept =
        iteration_summaries_add(&c->engine->summaries, iteration->seed, iteration->number);
    kept->begin_ns = open->begin_ns;
    kept->end_ns = measured->end_ns;
    kept->gpu_ns = measured->gpu_ns;
    kept->is_measured = measured->is_complete;
    kept->has_trace = open->is_sampled;
    kept->kind = iteration->kind;
    kept->requests = iteration->requests;
    memcpy(kept->tokens, iteration->tokens, sizeof kept->tokens);
    if (account) {
        kept->totals = account->totals;
        kept->totals.devices = 0;
    }
    return kept;
}

/* Divides the iteration's GPU time among its requests. */
static void divide(struct correlate *c, const struct open_iteration *open, const struct measured *measured)
{
    const struct iteration *iteration = &open->event->iteration;
    struct iteration_link link = {.number = iteration->number,
                                  .duration_ns = measured->end_ns - open->begin_ns};
    double tokens = (double)(iteration->tokens[REQUEST_PREFILL] + iteration->tokens[REQUEST_DECODE]);
    if (measured->is_complete)
        engine_stats_add_gpu(c->engine_stats, iteration, measured->gpu_ns);
    for (uint32_t i = 0; i < iteration->part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        struct request *request = engine_requests_find(c->engine->requests, part->request);
        struct request_trace *trace = request ? request->trace : NULL;
        if (!trace)
            continue;
        unsigned phase = phase_of(part);
        if (measured->is_complete && tokens > 0) {
            trace->measured++;
            trace->time_ns += link.duration_ns;
            trace->gpu_ns += measured->gpu_ns;
            trace->share_ns[phase] += (double)measured->gpu_ns * part->tokens / tokens;
        }
        if (open->is_sampled && iteration->rank == 0)
            request_trace_note(trace, &link, part->phase);
        if (!open->is_sampled)
            iteration_summaries_add_member(&c->engine->summaries,
                                           engine_requests_index(c->engine->requests, request), phase,
                                           part->tokens);
    }
}

/* Sends the spans of the iteration's requests that have ended, unless another iteration of theirs is open. */
static void leave_requests(struct correlate *c, const struct open_iteration *open)
{
    for (uint32_t i = 0; i < open->event->iteration.part_count; i++) {
        struct request *request = engine_requests_find(c->engine->requests, open->event->parts[i].request);
        struct request_trace *trace = request ? request->trace : NULL;
        if (!trace)
            continue;
        trace->open -= trace->open > 0;
        if (!trace->open && trace->ended_ns)
            send_request(c, request);
    }
}

static void close_iteration(struct correlate *c, struct open_iteration *open, const struct account *account)
{
    struct measured measured = measured_of(c, open, account);
    struct iteration_summary *kept = keep_summary(c, open, account, &measured);
    divide(c, open, &measured);
    if (open->is_wanted && !kept->has_trace)
        send_summary(c, kept, &open->event->iteration);
    leave_requests(c, open);
    c->engine->open_bytes -= open->event->bytes;
    free(open->event);
    open->event = NULL;
}

static void emit_left(struct correlate *c, struct account *account, const void *body)
{
    uint32_t iteration;
    memcpy(&iteration, body, sizeof iteration);
    close_iteration(c, open_at(c, iteration), account);
}

void engine_spans_leave(struct correlate *c, uint32_t iteration)
{
    struct open_iteration *open = open_at(c, iteration);
    struct account *account = accounts_find(c->counting.accounts, open->account);
    uint64_t body = iteration;
    void *kept = account && account->due ? counting_linger(c, account, sizeof body, emit_left) : NULL;
    if (kept) {
        memcpy(kept, &iteration, sizeof iteration);
        return;
    }
    close_iteration(c, open, account);
    if (account)
        accounts_close(c->counting.accounts, account);
}

void engine_spans_close(struct correlate *c, uint32_t iteration, const struct account *account,
                        struct span *rank)
{
    struct open_iteration *open = open_at(c, iteration);
    put_iteration(rank, &open->event->iteration, open->engine);
    if (open->event->iteration.rank == 0)
        send_root(c, open, rank);
    close_iteration(c, open, account);
}

void engine_spans_note(struct correlate *c, const struct engine_event *event, uint64_t time_ns)
{
    if (!c->options.steps || !engine_of(c))
        return;
    if (event->type == ENGINE_REQUEST)
        begin_request(c, event, time_ns);
    else if (event->type == ENGINE_REQUEST_END)
        end_request(c, &event->end, time_ns);
    else
        want_summary(c, &event->iteration);
}

void engine_spans_finish(struct correlate *c)
{
    struct request *request;
    while (c->engine && (request = engine_requests_any(c->engine->requests)) != NULL)
        send_request(c, request);
}
