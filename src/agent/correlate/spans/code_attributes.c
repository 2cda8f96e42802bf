#include "agent/correlate/spans/code_attributes.h"

#include "agent/correlate/stacks/code_stacks.h"
#include "model/semconv.h"

void code_attributes_put(const struct settings *settings, struct span *span, struct code_stack *code)
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
