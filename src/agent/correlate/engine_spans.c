#include "agent/correlate/engine_spans.h"

#include "agent/correlate/counting.h"
#include "agent/correlate/spans.h"
#include "agent/correlate/state.h"
#include "agent/correlate/totals/engine_stats.h"
#include "agent/correlate/trace/engine_requests.h"
#include "base/accounting/counters.h"
#include "base/hash.h"
#include "base/log/log.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_MAX         1024
#define OPEN_BYTES_MAX   (256 * 1024) /* of the events of open iterations; others lose their parts */
#define PARTS_SHOWN_MAX  128          /* links that SDKs and viewers keep */
#define PART_TEXT_BYTES  (REQUEST_ID_BYTES + 48)
#define RANK_NAME_BYTES  24
#define METHOD_OF_SHARES "tokens"

struct open_iteration {
    struct engine_event *event; /* NULL: free */
    uint32_t account;           /* 0: none so far */
    uint64_t begin_ns, end_ns;  /* end 0: in progress */
    bool is_sampled;
    char rank[RANK_NAME_BYTES]; /* these are used until its span is sent, after the event was freed */
    char engine[ENGINE_NAME_BYTES];
};

struct engine {
    struct engine_requests *requests;
    size_t open_bytes;
    uint32_t next; /* place in `open` to look at first */
    struct open_iteration open[OPEN_MAX];
    /* Scratch for the current span: */
    struct span span;
    struct span_link links[PARTS_SHOWN_MAX];
    struct span_attr items[PARTS_SHOWN_MAX];
    char texts[PARTS_SHOWN_MAX][PART_TEXT_BYTES];
};

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
    if (settings->engine.request_ids != REQUEST_IDS_PLAIN)
        return;
    for (size_t i = 0; i + 1 < REQUEST_ID_BYTES && given[i]; i++)
        id[i] = given[i] > ' ' && given[i] < 0x7f ? given[i] : '?';
}

static void begin_request(struct correlate *c, const struct engine_request *given, uint64_t time_ns)
{
    char id[REQUEST_ID_BYTES];
    struct parent parent = {.is_session = false};
    write_id(c->options.settings, given->id, id);
    struct request *request = engine_requests_add(c->engine->requests, given->number, id);
    if (request)
        engine_stats_admit(c->engine_stats, request, given->arrived_ns ? given->arrived_ns : time_ns);
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
}

static void put_links(struct correlate *c, struct span *span, const struct request_trace *trace)
{
    struct iteration_link chosen[REQUEST_LINKS_MAX];
    span->link_count = request_trace_links(trace, chosen);
    span->links = c->engine->links;
    for (uint32_t i = 0; i < span->link_count; i++) {
        struct step_identity identity = iteration_identify(trace->seed, chosen[i].number);
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
    span_attr_int(span, ATTR(SEMCONV_ENGINE_REQUEST_ITERATIONS_RECORDED), trace->recorded);
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

void engine_spans_note(struct correlate *c, const struct engine_event *event, uint64_t time_ns)
{
    if (!c->options.steps || !engine_of(c))
        return;
    if (event->type == ENGINE_REQUEST)
        begin_request(c, &event->request, time_ns);
    else
        end_request(c, &event->end, time_ns);
}

void engine_spans_finish(struct correlate *c)
{
    struct request *request;
    while (c->engine && (request = engine_requests_any(c->engine->requests)) != NULL)
        send_request(c, request);
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
        unsigned phase = part->phase == REQUEST_PREFILL ? REQUEST_PREFILL : REQUEST_DECODE;
        iteration->tokens[phase] += part->tokens;
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

/* Divides the iteration's GPU time among its requests, and notes it as closed for each. */
static void divide(struct correlate *c, const struct open_iteration *open, const struct account *account)
{
    const struct iteration *iteration = &open->event->iteration;
    uint64_t end_ns = open->end_ns > open->begin_ns ? open->end_ns : open->begin_ns + 1;
    struct iteration_link link = {.number = iteration->number, .duration_ns = end_ns - open->begin_ns};
    double tokens = (double)(iteration->tokens[REQUEST_PREFILL] + iteration->tokens[REQUEST_DECODE]);
    bool has_slept = c->options.slept_between && c->options.slept_between(open->begin_ns, end_ns);
    bool is_measured = account ? !account->totals.is_incomplete : !has_slept;
    uint64_t gpu_ns = account ? totals_gpu_ns(accounts_pool(c->counting.accounts), &account->totals) : 0;
    if (is_measured)
        engine_stats_add_gpu(c->engine_stats, iteration, gpu_ns);
    for (uint32_t i = 0; i < iteration->part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        struct request *request = engine_requests_find(c->engine->requests, part->request);
        struct request_trace *trace = request ? request->trace : NULL;
        if (!trace)
            continue;
        if (is_measured && tokens > 0) {
            trace->measured++;
            trace->time_ns += link.duration_ns;
            trace->gpu_ns += gpu_ns;
            trace->share_ns[part->phase == REQUEST_PREFILL ? REQUEST_PREFILL : REQUEST_DECODE] +=
                (double)gpu_ns * part->tokens / tokens;
        }
        if (open->is_sampled && iteration->rank == 0)
            request_trace_note(trace, &link, part->phase);
        trace->open -= trace->open > 0;
        if (!trace->open && trace->ended_ns)
            send_request(c, request);
    }
}

static void close_iteration(struct correlate *c, struct open_iteration *open, const struct account *account)
{
    divide(c, open, account);
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

static void put_iteration(struct span *span, const struct open_iteration *open)
{
    const struct iteration *iteration = &open->event->iteration;
    if (*open->engine)
        span_attr_string(span, ATTR(SEMCONV_ENGINE_NAME), open->engine);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_NUMBER), iteration->number);
    span_attr_string(span, ATTR(SEMCONV_ENGINE_ITERATION_KIND), iteration_kind_name(iteration->kind));
}

/* Adds what the requests had in the iteration, and links to those with spans. Viewers hide attributes of
 * links, so the parts are text, too: "r17 decode 1". */
static void put_parts(struct correlate *c, struct span *span, const struct open_iteration *open)
{
    struct engine *engine = c->engine;
    const struct iteration *iteration = &open->event->iteration;
    uint32_t shown = 0, left_out = 0;
    span->links = engine->links;
    for (uint32_t i = 0; i < iteration->part_count; i++) {
        const struct iteration_part *part = &open->event->parts[i];
        const struct request *request = engine_requests_find(engine->requests, part->request);
        const struct request_trace *trace = request ? request->trace : NULL;
        if (shown < PARTS_SHOWN_MAX) {
            int length = snprintf(
                engine->texts[shown], PART_TEXT_BYTES, "%s%s%s %" PRIu32, request ? request->id : "",
                request && *request->id ? " " : "",
                request_phase_name(part->phase == REQUEST_PREFILL ? REQUEST_PREFILL : REQUEST_DECODE),
                part->tokens);
            engine->items[shown] =
                (struct span_attr){.type = ATTR_STRING, .s = engine->texts[shown], .len = (uint32_t)length};
            shown++;
        }
        if (trace && span->link_count < PARTS_SHOWN_MAX)
            engine->links[span->link_count++] =
                session_link(trace->parent.trace_id, trace->span_id, trace->parent.flags & 0xff, "request");
        else
            left_out += trace != NULL;
    }
    if (shown)
        span_attr_array(span, ATTR(SEMCONV_ENGINE_ITERATION_PARTS), engine->items, shown);
    if (left_out)
        span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_LINKS_LEFT_OUT), left_out);
}

/* Emits the iteration's span, which all ranks know as their parent. */
static void emit_root(struct correlate *c, const struct open_iteration *open, const struct span *rank)
{
    struct span *span = &c->engine->span;
    const struct iteration *iteration = &open->event->iteration;
    char name[32];
    span_begin(span, rank->start_ns, rank->end_ns);
    memcpy(span->trace_id, rank->trace_id, 16);
    memcpy(span->span_id, rank->parent_span_id, 8);
    span->flags = (rank->flags & ~SPAN_FLAG_REMOTE) | SPAN_FLAG_REMOTE_KNOWN;
    span->trace_state = rank->trace_state;
    span->name = name;
    span->name_len = (uint32_t)snprintf(name, sizeof name, "iteration %" PRId64, iteration->number);
    put_iteration(span, open);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_REQUESTS), iteration->requests);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_PREFILL_TOKENS),
                  (int64_t)iteration->tokens[REQUEST_PREFILL]);
    span_attr_int(span, ATTR(SEMCONV_ENGINE_ITERATION_DECODE_TOKENS),
                  (int64_t)iteration->tokens[REQUEST_DECODE]);
    if (c->options.settings->engine.neighbors == NEIGHBORS_LINKS)
        put_parts(c, span, open);
    counter_add_alone(COUNTER_roots, 1);
    spans_emit(c, span);
}

void engine_spans_close(struct correlate *c, uint32_t iteration, const struct account *account,
                        struct span *rank)
{
    struct open_iteration *open = open_at(c, iteration);
    put_iteration(rank, open);
    if (open->event->iteration.rank == 0)
        emit_root(c, open, rank);
    close_iteration(c, open, account);
}
