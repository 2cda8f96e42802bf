#include "agent/correlate/spans.h"

#include "base/accounting/counters.h"
#include "agent/correlate/stacks/code_profile.h"
#include "agent/correlate/state.h"
#include "agent/correlate/trace/tracestates.h"
#include "model/semconv.h"

void spans_emit(struct correlate *c, const struct span *span)
{
    counter_add_alone(COUNTER_spans_created, 1);
    c->options.sink.on_span(c->options.sink.context, span);
}

struct code_profile *spans_profile(struct correlate *c)
{
    if (c->options.sink.on_profile && code_profile_is_full(c->profile)) {
        c->options.sink.on_profile(c->options.sink.context, code_profile_end(c->profile));
        code_profile_begin(c->profile);
    }
    return c->profile;
}

void spans_put_below(const struct correlate *c, struct span *span, const uint8_t *trace_id,
                     const uint8_t *parent_span_id, uint32_t flags, const char *trace_state)
{
    memcpy(span->trace_id, trace_id, 16);
    memcpy(span->parent_span_id, parent_span_id, 8);
    span->flags = flags;
    span->trace_state =
        trace_state ? tracestates_valid(&c->threads.tracestates, trace_id, trace_state) : NULL;
}

void spans_put_below_parent(const struct correlate *c, struct span *span, const struct parent *parent)
{
    spans_put_below(c, span, parent->trace_id, parent->span_id, parent->flags, parent->trace_state);
}

void spans_put_thread(const struct correlate *c, struct span *span, const struct thread_info *thread)
{
    const char *named = named_objects_text_of(&c->objects, NAMED_THREAD, thread->tid);
    span_attr_int(span, ATTR(SEMCONV_CUSPAN_THREAD_ID), (int64_t)thread->tid);
    if (named || *thread->name)
        span_attr_string(span, ATTR(SEMCONV_THREAD_NAME), named ? named : thread->name);
}

void spans_put_error(struct span *span, enum call_domain domain, int32_t result)
{
    const char *name = call_result_name(domain, result);
    span->status = SPAN_STATUS_ERROR;
    span->status_message = name;
    span_attr_string(span, ATTR(SEMCONV_ERROR_TYPE), name ? name : "_OTHER");
}

void spans_put_context_name(const struct correlate *c, struct span *span, uint32_t context_id)
{
    if (!c->objects.has[NAMED_CONTEXT])
        return;
    uint64_t handle = devices_handle(&c->devices, context_id);
    const char *name = named_objects_text_of(&c->objects, NAMED_CONTEXT, handle);
    if (name)
        span_attr_string(span, ATTR(SEMCONV_CUDA_CONTEXT_NAME), name);
}

void spans_put_code(const struct settings *settings, struct span *span, struct code_stack *code)
{
    span_attr_string(span, ATTR(SEMCONV_CUSPAN_STACK_ID), code->id);
    if (*code->function)
        span_attr_string(span, ATTR(SEMCONV_CODE_FUNCTION_NAME), code->function);
    if (code->file)
        span_attr_string(span, ATTR(SEMCONV_CODE_FILE_PATH), code->file);
    if (code->line)
        span_attr_int(span, ATTR(SEMCONV_CODE_LINE_NUMBER), code->line);
    if (!code->is_sent || settings->capture.code_stacktrace == CODE_STACKTRACE_ALWAYS)
        span_attr_string(span, ATTR(SEMCONV_CODE_STACKTRACE), code->text);
    code->is_sent = true;
}
