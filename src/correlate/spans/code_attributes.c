#include "correlate/spans/code_attributes.h"

#include "correlate/stacks/code_stacks.h"

void code_attributes_put(const struct settings *settings, struct span *span, struct code_stack *code)
{
    span_attr_string(span, ATTR("cuspan.stack.id"), code->id);
    if (*code->function)
        span_attr_string(span, ATTR("code.function.name"), code->function);
    if (code->file)
        span_attr_string(span, ATTR("code.file.path"), code->file);
    if (code->line)
        span_attr_int(span, ATTR("code.line.number"), code->line);
    if (!code->is_sent || settings->capture.code_stacktrace == CODE_STACKTRACE_ALWAYS)
        span_attr_string(span, ATTR("code.stacktrace"), code->text);
    code->is_sent = true;
}
