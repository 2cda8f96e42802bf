#include "agent/core/entry/cuspan_api.h"

#include "agent/core/entry/control_verbs.h"
#include "agent/core/lifecycle/agent.h"
#include "agent/core/resource/self_env.h"
#include "base/log/log.h"
#include "base/process/host_call.h"
#include "agent/capture/capture.h"
#include "agent/capture/coexist/other_tools.h"
#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/steps.h"
#include "model/span.h"

#include <stdlib.h>
#include <string.h>

static_assert((int)CUSPAN_INT == (int)ATTR_INT && (int)CUSPAN_BOOL == (int)ATTR_BOOL &&
                  (int)CUSPAN_DOUBLE == (int)ATTR_DOUBLE && (int)CUSPAN_STRING == (int)ATTR_STRING,
              "a type of the API is one of ours");
static_assert((int)CUSPAN_OK == (int)SPAN_STATUS_OK && (int)CUSPAN_ERROR == (int)SPAN_STATUS_ERROR,
              "and so is a status");
static_assert((int)CUSPAN_TRAIN == (int)STEP_TRAIN && (int)CUSPAN_EVALUATION == (int)STEP_EVALUATION &&
                  (int)CUSPAN_CHECKPOINT == (int)STEP_CHECKPOINT && (int)CUSPAN_NO_STEP == (int)STEP_NONE,
              "and so is a kind of step");

static int is_on(void)
{
    return capture_is_on();
}

static uint64_t attach(const cuspan_context *given)
{
    struct trace_context context;
    if (!given || cuspan_is_zero(given->trace_id, 16) || cuspan_is_zero(given->span_id, 8))
        return 0;
    memcpy(context.trace_id, given->trace_id, 16);
    memcpy(context.span_id, given->span_id, 8);
    context.flags = given->flags & (TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    size_t bytes = given->tracestate ? strnlen(given->tracestate, sizeof context.trace_state) : 0;
    if (bytes == sizeof context.trace_state)
        bytes = 0; /* longer than the W3C limit: ignored */
    memcpy(context.trace_state, bytes ? given->tracestate : "", bytes);
    context.trace_state[bytes] = 0;
    struct host_call call = host_call_begin_short();
    uint64_t token = context_attach(&context, agent_may_sample(&context));
    host_call_end_short(call);
    return token;
}

static int detach(uint64_t token)
{
    struct host_call call = host_call_begin_short();
    bool is_done = context_detach(token);
    host_call_end_short(call);
    return is_done ? 0 : -1;
}

static int current(cuspan_context *context)
{
    struct trace_context found;
    struct host_call call = host_call_begin_short();
    bool is_there = context_current(&found);
    if (is_there) {
        *context = (cuspan_context){.flags = found.flags, .tracestate = context_trace_state()};
        memcpy(context->trace_id, found.trace_id, 16);
        memcpy(context->span_id, found.span_id, 8);
    }
    host_call_end_short(call);
    return is_there;
}

/* Returns the number of attributes; the caller owns keys and strings. */
static uint32_t convert(const cuspan_attribute *given, uint32_t count,
                        struct range_attr attrs[SPAN_ATTRS_MAX])
{
    uint32_t converted = 0;
    for (uint32_t i = 0; given && i < count && converted < SPAN_ATTRS_MAX; i++) {
        const cuspan_attribute *from = &given[i];
        bool is_string = from->type == CUSPAN_STRING;
        if (!from->key || from->type > CUSPAN_STRING || (is_string && !from->value.s))
            continue;
        struct range_attr *attr = &attrs[converted++];
        *attr = (struct range_attr){
            .key = from->key, .key_bytes = (uint32_t)strlen(from->key), .type = (uint8_t)from->type};
        if (is_string) {
            attr->s = from->value.s;
            attr->bytes =
                from->bytes == UINT32_MAX ? (uint32_t)strnlen(from->value.s, RANGE_TEXT_BYTES) : from->bytes;
        } else {
            attr->i = from->value.i;
        }
    }
    return converted;
}

static uint64_t say(uint64_t (*how)(const struct range_text *), const char *name,
                    const cuspan_attribute *given, uint32_t count, bool is_loop)
{
    struct range_attr attrs[SPAN_ATTRS_MAX];
    struct host_call call = host_call_begin_short();
    struct range_text text = {.name = name ? name : "",
                              .name_bytes = (uint32_t)strnlen(name ? name : "", RANGE_TEXT_BYTES),
                              .attrs = attrs,
                              .attr_count = convert(given, count, attrs),
                              .is_loop = is_loop};
    uint64_t result = how(&text);
    host_call_end_short(call);
    return result;
}

static uint64_t push(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    return say(range_push, name, attributes, count, false);
}

static uint64_t push_loop(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    return say(range_push, name, attributes, count, true);
}

static int again(uint64_t range)
{
    return range_again(range);
}

static uint64_t start(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    return say(range_start, name, attributes, count, false);
}

static uint64_t mark_of(const struct range_text *text)
{
    return range_mark(text);
}

static int mark(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    return say(mark_of, name, attributes, count, false) ? 0 : -1;
}

static int end(uint64_t id, uint32_t status, const char *message, const cuspan_attribute *attributes,
               uint32_t count)
{
    struct range_attr attrs[SPAN_ATTRS_MAX];
    struct host_call call = host_call_begin_short();
    struct range_end said = {.status = status <= CUSPAN_ERROR ? (uint8_t)status : (uint8_t)CUSPAN_UNSET,
                             .message = message,
                             .message_bytes = message ? (uint32_t)strnlen(message, RANGE_TEXT_BYTES) : 0,
                             .attrs = attrs,
                             .attr_count = convert(attributes, count, attrs)};
    bool is_done = range_end(id, &said);
    host_call_end_short(call);
    return is_done ? 0 : -1;
}

static int start_tracing(void)
{
    struct host_call call = host_call_begin();
    control_verbs_serve();
    int answer = agent_start();
    host_call_end(call);
    return answer;
}

static int stop_tracing(void)
{
    struct host_call call = host_call_begin();
    int answer = agent_stop();
    host_call_end(call);
    return answer;
}

static int flush(uint32_t timeout_ms)
{
    struct host_call call = host_call_begin();
    int answer = agent_flush(timeout_ms);
    host_call_end(call);
    return answer;
}

static int finish(void)
{
    struct host_call call = host_call_begin();
    bool is_done = agent_finish();
    host_call_end(call);
    return is_done ? 0 : -1;
}

static int publish_contexts(int on)
{
    struct error err = {""};
    struct host_call call = host_call_begin();
    enum status status = STATUS_OK;
    if (on)
        status = publish_begin(self_env_folder(), &err);
    else
        publish_end();
    context_publish();
    if (status != STATUS_OK && status != STATUS_UNAVAILABLE)
        log_once(log_warn, "%s: contexts of threads are not published", err.text);
    host_call_end(call);
    return status == STATUS_OK ? 0 : status == STATUS_UNAVAILABLE ? 1 : -1;
}

static int step(int64_t number, uint32_t kind, uint32_t source)
{
    if (kind > STEP_NONE || source >= STEP_BY_NONE)
        return -1;
    struct host_call call = host_call_begin_short();
    bool is_used = steps_begin(number, (enum step_kind)kind, (enum step_source)source);
    host_call_end_short(call);
    return is_used ? 0 : -1;
}

static_assert((int)CUSPAN_PREFILL == (int)REQUEST_PREFILL && (int)CUSPAN_DECODE == (int)REQUEST_DECODE &&
                  (int)CUSPAN_WARM_UP == (int)ITERATION_WARM_UP && (int)CUSPAN_FAILED == (int)REQUEST_FAILED,
              "and so are words about engines");
static_assert(sizeof(cuspan_part) == sizeof(struct iteration_part) &&
                  offsetof(cuspan_part, drafts) == offsetof(struct iteration_part, drafts),
              "a part has the same layout");

static struct engine_event *make_event(enum engine_event_type type, size_t more)
{
    size_t bytes = sizeof(struct engine_event) + more;
    struct engine_event *event = calloc(1, bytes);
    if (event) {
        event->type = type;
        event->bytes = bytes;
    }
    return event;
}

static _Atomic uint64_t last_request;

/* Without a context, the request begins a trace. */
static bool may_sample_request(const struct engine_request *request)
{
    struct trace_context context = {.flags = request->flags};
    memcpy(context.trace_id, request->context, 16);
    memcpy(context.span_id, request->context + 16, 8);
    strcpy(context.trace_state, request->trace_state);
    return cuspan_is_zero(request->context, sizeof request->context) || agent_may_sample(&context);
}

/* Writes names and values as in engine_event_headers(). Returns their size. */
static uint32_t write_headers(const cuspan_request_info *given, char text[REQUEST_HEADERS_BYTES_MAX])
{
    char *at = text;
    for (uint32_t i = 0; given->headers && i < given->header_count && i < REQUEST_HEADERS_MAX; i++) {
        const cuspan_header *header = &given->headers[i];
        if (!header->name || !*header->name || !header->value)
            continue;
        header_write_name(at, header->name);
        at += strlen(at) + 1;
        client_text_write(at, HEADER_VALUE_BYTES, header->value, true);
        at += strlen(at) + 1;
    }
    return (uint32_t)(at - text);
}

static uint64_t request(const cuspan_request_info *given)
{
    struct host_call call = host_call_begin();
    char headers[REQUEST_HEADERS_BYTES_MAX];
    uint32_t header_bytes = given ? write_headers(given, headers) : 0;
    struct engine_event *event = given ? make_event(ENGINE_REQUEST, header_bytes) : NULL;
    uint64_t number = 0;
    if (event) {
        struct engine_request *request = &event->request;
        const cuspan_context *context = given->context;
        number = 2 * (atomic_fetch_add(&last_request, 1) + 1);
        request->arrived_ns = given->arrived_unix_ns > 0 ? (uint64_t)given->arrived_unix_ns : 0;
        request->prompt_tokens = given->prompt_tokens;
        request->cached_tokens = given->cached_tokens;
        request->header_bytes = header_bytes;
        memcpy(engine_event_headers(event), headers, header_bytes);
        strncpy(request->id, given->id ? given->id : "", sizeof request->id - 1);
        if (context && !cuspan_is_zero(context->trace_id, 16) && !cuspan_is_zero(context->span_id, 8)) {
            memcpy(request->context, context->trace_id, 16);
            memcpy(request->context + 16, context->span_id, 8);
            request->flags = context->flags & (TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
            if (context->tracestate && strlen(context->tracestate) < sizeof request->trace_state)
                strcpy(request->trace_state, context->tracestate);
        }
        number |= may_sample_request(request);
        request->number = number;
        steps_note_request(event);
    }
    host_call_end(call);
    return number;
}

static int request_end(uint64_t number, uint32_t reason, uint32_t tokens)
{
    struct host_call call = host_call_begin();
    struct engine_event *event =
        number && reason <= REQUEST_FAILED ? make_event(ENGINE_REQUEST_END, 0) : NULL;
    if (event) {
        event->end = (struct engine_request_end){.number = number, .reason = reason, .tokens = tokens};
        steps_note_request(event);
    }
    host_call_end(call);
    return event ? 0 : -1;
}

static void describe(struct iteration *iteration, const cuspan_iteration_info *given)
{
    *iteration = (struct iteration){.seed = given->seed,
                                    .number = given->number,
                                    .kind = (uint8_t)given->kind,
                                    .is_recorded = given->recorded != 0,
                                    .rank = given->rank,
                                    .ranks = given->ranks,
                                    .requests = given->count,
                                    .part_count = given->count < ITERATION_PARTS_MAX ? given->count
                                                                                     : ITERATION_PARTS_MAX};
    strncpy(iteration->engine, given->engine ? given->engine : "", sizeof iteration->engine - 1);
}

static int iteration(const cuspan_iteration_info *given)
{
    struct host_call call = host_call_begin();
    bool is_valid = given && given->kind <= ITERATION_WARM_UP && (given->parts || !given->count);
    struct iteration described;
    struct engine_event *event = NULL;
    if (is_valid) {
        describe(&described, given);
        event = make_event(ENGINE_ITERATION, described.part_count * sizeof *event->parts);
    }
    if (event) {
        event->iteration = described;
        if (described.part_count)
            memcpy(event->parts, given->parts, described.part_count * sizeof *event->parts);
        steps_begin_iteration(event);
    }
    host_call_end(call);
    return event ? 0 : -1;
}

static int iteration_end(void)
{
    struct host_call call = host_call_begin();
    steps_end_iteration();
    host_call_end(call);
    return 0;
}

static uint64_t iteration_here(const cuspan_iteration_info *given)
{
    struct host_call call = host_call_begin_short();
    struct trace_context context = {.flags = TRACE_FLAG_RANDOM};
    struct iteration iteration;
    uint64_t token = 0;
    if (given && given->kind <= ITERATION_WARM_UP) {
        describe(&iteration, given);
        memcpy(context.trace_id, iteration_identify(given->seed, given->number).trace_id, 16);
        iteration_rank_span(given->seed, given->number, given->rank, context.span_id);
        context.flags |= steps_samples_iteration(&iteration) ? TRACE_FLAG_SAMPLED : 0;
        token = context_attach(&context, context.flags & TRACE_FLAG_SAMPLED);
    }
    host_call_end_short(call);
    return token;
}

static int iteration_summary(const cuspan_iteration_info *given)
{
    struct host_call call = host_call_begin();
    struct engine_event *event =
        given && given->kind <= ITERATION_WARM_UP ? make_event(ENGINE_SUMMARY, 0) : NULL;
    if (event) {
        describe(&event->iteration, given);
        event->iteration.requests = event->iteration.part_count = 0;
        steps_note_request(event);
    }
    host_call_end(call);
    return event ? 0 : -1;
}

static const char *engine_headers(void)
{
    struct host_call call = host_call_begin();
    const char *names = agent_engine_headers();
    host_call_end(call);
    return names;
}

static const cuspan_api api = {.bytes = sizeof api,
                               .is_on = is_on,
                               .attach = attach,
                               .detach = detach,
                               .current = current,
                               .range_push = push,
                               .span_start = start,
                               .end = end,
                               .mark = mark,
                               .start = start_tracing,
                               .stop = stop_tracing,
                               .flush = flush,
                               .finish = finish,
                               .publish = publish_contexts,
                               .loop_push = push_loop,
                               .again = again,
                               .step = step,
                               .request = request,
                               .request_end = request_end,
                               .iteration = iteration,
                               .iteration_end = iteration_end,
                               .iteration_here = iteration_here,
                               .iteration_summary = iteration_summary,
                               .engine_headers = engine_headers};

const cuspan_api *cuspan_agent_api(uint32_t version)
{
    return version >= 1 ? &api : NULL;
}

int InitializeInjection(void)
{
    control_verbs_serve();
    agent_inject();
    return 1;
}

void cuspan_python_tools(void)
{
    other_tools_set_built_in(cuspan_share_api);
    other_tools_expect();
}
